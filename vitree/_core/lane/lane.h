/* A lane is one independent instance; vt_real holds VT_WIDTH of them (1, 2, 4 or 8).
 *
 * Kernels are written once over vt_real. Every operation acts lane by lane and every transcendental
 * is a polynomial written here, so a lane's bits depend neither on the width nor on its neighbours
 * nor on a C library. Must be compiled without floating-point contraction.
 */
#ifndef VT_LANE_H
#define VT_LANE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "coefficients.h"

#ifndef VT_WIDTH
#define VT_WIDTH 1
#endif

#if defined(__GNUC__) || defined(__clang__)
#define VT_INLINE static inline __attribute__((always_inline))
#define VT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define VT_INLINE static __inline
#define VT_UNLIKELY(x) (x)
#endif

/* ---- types ---------------------------------------------------------------------------------- */

#if VT_WIDTH == 1
typedef double vt_real;
typedef int64_t vt_mask; /* 0 or -1 */
#else
typedef double vt_real __attribute__((vector_size(8 * VT_WIDTH)));
typedef int64_t vt_mask __attribute__((vector_size(8 * VT_WIDTH)));
#endif

#if VT_WIDTH == 1
VT_INLINE vt_real vt_set1(double a) { return a; }
VT_INLINE double vt_get(vt_real a, int lane) { (void)lane; return a; }
VT_INLINE void vt_put(vt_real *a, int lane, double x) { (void)lane; *a = x; }
VT_INLINE vt_mask vt_lt(vt_real a, vt_real b) { return -(int64_t)(a < b); }
VT_INLINE vt_mask vt_le(vt_real a, vt_real b) { return -(int64_t)(a <= b); }
VT_INLINE vt_real vt_select(vt_mask m, vt_real a, vt_real b) { return m ? a : b; }
VT_INLINE int vt_any(vt_mask m) { return m != 0; }
VT_INLINE int vt_all(vt_mask m) { return m != 0; }
VT_INLINE vt_mask vt_where(const int *asked) { return -(vt_mask)(*asked != 0); }
VT_INLINE vt_real vt_sqrt(vt_real a) { return sqrt(a); }
VT_INLINE vt_real vt_abs(vt_real a) { return fabs(a); }
#else
VT_INLINE vt_real vt_set1(double a)
{
    return a - (vt_real){0}; /* broadcast; keeps the sign of zero */
}
VT_INLINE double vt_get(vt_real a, int lane) { return a[lane]; }
VT_INLINE void vt_put(vt_real *a, int lane, double x) { (*a)[lane] = x; }
VT_INLINE vt_mask vt_lt(vt_real a, vt_real b) { return a < b; }
VT_INLINE vt_mask vt_le(vt_real a, vt_real b) { return a <= b; }
VT_INLINE vt_real vt_select(vt_mask m, vt_real a, vt_real b)
{
    return (vt_real)(((vt_mask)a & m) | ((vt_mask)b & ~m));
}
VT_INLINE int vt_any(vt_mask m)
{
    int64_t any = 0;
    for (int k = 0; k < VT_WIDTH; k++) any |= m[k];
    return any != 0;
}
VT_INLINE int vt_all(vt_mask m)
{
    int64_t all = -1;
    for (int k = 0; k < VT_WIDTH; k++) all &= m[k];
    return all != 0;
}
VT_INLINE vt_mask vt_where(const int *asked)
{
    vt_mask m;
    for (int k = 0; k < VT_WIDTH; k++) m[k] = -(int64_t)(asked[k] != 0);
    return m;
}
VT_INLINE vt_real vt_sqrt(vt_real a)
{
    vt_real r;
    for (int k = 0; k < VT_WIDTH; k++) r[k] = __builtin_sqrt(a[k]);
    return r;
}
VT_INLINE vt_real vt_abs(vt_real a)
{
    return (vt_real)((vt_mask)a & (((vt_mask){0}) + INT64_MAX));
}
#endif

/* Memory that starts on a cache line, as vectors must; the address of the whole is before it. NULL if there is none. */
static inline void *vt_alloc(size_t size)
{
    char *whole = malloc(size + 64 + sizeof(void *)), *at;
    if (!whole) return NULL;
    at = (char *)(((uintptr_t)whole + sizeof(void *) + 63) & ~(uintptr_t)63);
    ((void **)at)[-1] = whole;
    return at;
}
static inline void vt_release(void *at)
{
    if (at) free(((void **)at)[-1]);
}

/* Rows of numbers. Of several lanes each number is a vector, and sums have the order that those of one lane have. VT_PLAIN
   does without vectors within a row, as compilers do that have none. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(VT_PLAIN)
typedef double vt_two __attribute__((vector_size(16), aligned(8), may_alias));
typedef double vt_four __attribute__((vector_size(32), aligned(8), may_alias));
#define VT_ROWS 1
#endif

/* a.b of numbers, in the order that is quick */
VT_INLINE double vt_dot(ptrdiff_t n, const double *a, const double *b)
{
    double rest = 0.0;
    ptrdiff_t k = 0;
#ifdef VT_ROWS
    vt_four s = {0.0, 0.0, 0.0, 0.0}, t = s;
    for (; k < n - 7; k += 8) {
        s += *(const vt_four *)(a + k) * *(const vt_four *)(b + k);
        t += *(const vt_four *)(a + k + 4) * *(const vt_four *)(b + k + 4);
    }
    s += t;
    rest = (s[0] + s[1]) + (s[2] + s[3]);
#endif
    for (; k < n; k++) rest += a[k] * b[k];
    return rest;
}

#if VT_WIDTH == 1

/* y += s x */
VT_INLINE void vt_add_row(ptrdiff_t n, double s, const double *x, double *y)
{
    ptrdiff_t k = 0;
#ifdef VT_ROWS
    for (; k < n - 3; k += 4) *(vt_four *)(y + k) += s * *(const vt_four *)(x + k);
    for (; k < n - 1; k += 2) *(vt_two *)(y + k) += s * *(const vt_two *)(x + k);
#endif
    for (; k < n; k++) y[k] += s * x[k];
}

/* y += s[0] x[0] + s[1] x[1] + s[2] x[2] + s[3] x[3], the rows of x being `row` apart, and s `far` apart, in this order */
VT_INLINE void vt_add_four(ptrdiff_t n, const double *s, ptrdiff_t far, const double *x, ptrdiff_t row, double *y)
{
    const double s0 = s[0], s1 = s[far], s2 = s[2 * far], s3 = s[3 * far];
    const double *x1 = x + row, *x2 = x1 + row, *x3 = x2 + row;
    ptrdiff_t k = 0;
#ifdef VT_ROWS
    for (; k < n - 3; k += 4) {
        vt_four sum = *(vt_four *)(y + k);
        sum += s0 * *(const vt_four *)(x + k);
        sum += s1 * *(const vt_four *)(x1 + k);
        sum += s2 * *(const vt_four *)(x2 + k);
        sum += s3 * *(const vt_four *)(x3 + k);
        *(vt_four *)(y + k) = sum;
    }
#endif
    for (; k < n; k++) y[k] = (((y[k] + s0 * x[k]) + s1 * x1[k]) + s2 * x2[k]) + s3 * x3[k];
}

/* Of one lane: products of matrices by tiles of four rows and as many columns as two registers hold, and of fewer columns
   where these do not divide a row. Each number is a sum over j in order, whatever the tiles */
#if VT_WIDTH == 1
#if !defined(VT_ROWS)
typedef double vt_wide;
#elif defined(__AVX512F__)
typedef double vt_wide __attribute__((vector_size(64), aligned(8), may_alias));
#elif defined(__AVX__)
typedef vt_four vt_wide;
#else
typedef vt_two vt_wide;
#endif

#define VT_TILE(name, type, rows, pieces)                                                                                      \
    VT_INLINE void name(ptrdiff_t inner, const double *s, ptrdiff_t next, ptrdiff_t far, const double *x, double *y,           \
                        ptrdiff_t row)                                                                                         \
    {                                                                                                                          \
        const ptrdiff_t size = sizeof(type) / sizeof(double);                                                                  \
        type sum[rows][pieces], b[pieces];                                                                                     \
        for (int r = 0; r < rows; r++)                                                                                         \
            for (int c = 0; c < pieces; c++) sum[r][c] = *(const type *)(y + r * row + c * size);                              \
        for (ptrdiff_t j = 0; j < inner; j++) {                                                                                \
            for (int c = 0; c < pieces; c++) b[c] = *(const type *)(x + j * row + c * size);                                   \
            for (int r = 0; r < rows; r++)                                                                                     \
                for (int c = 0; c < pieces; c++) sum[r][c] += s[r * next + j * far] * b[c];                                    \
        }                                                                                                                      \
        for (int r = 0; r < rows; r++)                                                                                         \
            for (int c = 0; c < pieces; c++) *(type *)(y + r * row + c * size) = sum[r][c];                                    \
    }
/* Of so many rows: all columns of y from k on */
#define VT_BAND(name, rows)                                                                                                    \
    VT_TILE(vt_tile_pair_##rows, vt_wide, rows, 2)                                                                             \
    VT_TILE(vt_tile_wide_##rows, vt_wide, rows, 1)                                                                             \
    VT_TILE(vt_tile_four_##rows, vt_some, rows, 1)                                                                             \
    VT_TILE(vt_tile_two_##rows, vt_few, rows, 1)                                                                               \
    VT_TILE(vt_tile_##rows, double, rows, 1)                                                                                   \
    static void name(ptrdiff_t inner, ptrdiff_t n, ptrdiff_t k, const double *s, ptrdiff_t next, ptrdiff_t far,                \
                     const double *x, double *y, ptrdiff_t row)                                                                \
    {                                                                                                                          \
        const ptrdiff_t wide = sizeof(vt_wide) / sizeof(double), some = sizeof(vt_some) / sizeof(double);                      \
        const ptrdiff_t few = sizeof(vt_few) / sizeof(double);                                                                 \
        for (; k < n - 2 * wide + 1; k += 2 * wide) vt_tile_pair_##rows(inner, s, next, far, x + k, y + k, row);               \
        for (; k < n - wide + 1; k += wide) vt_tile_wide_##rows(inner, s, next, far, x + k, y + k, row);                       \
        for (; k < n - some + 1; k += some) vt_tile_four_##rows(inner, s, next, far, x + k, y + k, row);                       \
        for (; k < n - few + 1; k += few) vt_tile_two_##rows(inner, s, next, far, x + k, y + k, row);                          \
        for (; k < n; k++) vt_tile_##rows(inner, s, next, far, x + k, y + k, row);                                             \
    }
#ifdef VT_ROWS
typedef vt_four vt_some;
typedef vt_two vt_few;
#else
typedef double vt_some, vt_few;
#endif
VT_BAND(vt_band_4, 4)
VT_BAND(vt_band_1, 1)

/* y (rows, n) += s x, of s[i next + j far] and x (inner, n); rows of x and y are `row` apart. With `upper` without what is
   below the diagonal of y, but for a few numbers beside it */
static void vt_add_product(ptrdiff_t rows, ptrdiff_t inner, ptrdiff_t n, const double *s, ptrdiff_t next, ptrdiff_t far,
                           const double *x, double *y, ptrdiff_t row, int upper)
{
    ptrdiff_t i = 0;
    for (; i < rows - 3; i += 4, s += 4 * next, y += 4 * row)
        vt_band_4(inner, n, upper ? i : 0, s, next, far, x, y, row);
    for (; i < rows; i++, s += next, y += row) vt_band_1(inner, n, upper ? i : 0, s, next, far, x, y, row);
}
#endif

/* y += b x - c z */
VT_INLINE void vt_add_rows(ptrdiff_t n, double b, const double *x, double c, const double *z, double *y)
{
    ptrdiff_t k = 0;
#ifdef VT_ROWS
    for (; k < n - 3; k += 4)
        *(vt_four *)(y + k) += b * *(const vt_four *)(x + k) - c * *(const vt_four *)(z + k);
#endif
    for (; k < n; k++) y[k] += b * x[k] - c * z[k];
}

/* a.b: the sum of those in even places, and that of those in odd places */
VT_INLINE double vt_inner(ptrdiff_t n, const double *a, const double *b)
{
    ptrdiff_t k = 0;
#ifdef VT_ROWS
    vt_two s = {0.0, 0.0};
    for (; k < n - 1; k += 2) s += *(const vt_two *)(a + k) * *(const vt_two *)(b + k);
    return s[0] + s[1] + (k < n ? a[k] * b[k] : 0.0);
#else
    double even = 0.0, odd = 0.0;
    for (; k < n - 1; k += 2) {
        even += a[k] * b[k];
        odd += a[k + 1] * b[k + 1];
    }
    return even + odd + (k < n ? a[k] * b[k] : 0.0);
#endif
}

/* The first of n points whose product with m is the largest; x: their numbers along x, those along y `stride` further, those
   along z as far again. `stride` is a multiple of four, and numbers behind the last point are those of the first */
VT_INLINE int vt_farthest(int n, ptrdiff_t stride, const double *x, const double *m)
{
    const double *y = x + stride, *z = y + stride;
    double most = -HUGE_VAL;
    int best = 0;
#ifdef VT_ROWS
    typedef long long vt_counts __attribute__((vector_size(32)));
    vt_four value, top = {most, most, most, most};
    vt_counts larger, at = {0, 0, 0, 0}, now = {0, 1, 2, 3};
    for (int k = 0; k < n; k += 4, now += 4) {
        value = *(const vt_four *)(x + k) * m[0] + *(const vt_four *)(y + k) * m[1] + *(const vt_four *)(z + k) * m[2];
        larger = value > top;
        top = (vt_four)((larger & (vt_counts)value) | (~larger & (vt_counts)top));
        at = (larger & now) | (~larger & at);
    }
    for (int k = 0; k < 4; k++)
        if (top[k] > most || (top[k] == most && at[k] < best)) {
            most = top[k];
            best = (int)at[k];
        }
#else
    for (int k = 0; k < n; k++) {
        double value = x[k] * m[0] + y[k] * m[1] + z[k] * m[2];
        if (value > most) {
            most = value;
            best = k;
        }
    }
#endif
    return best;
}

/* C -= A B of six rows and columns */
VT_INLINE void vt_less_six(const double *A, const double *B, double *C)
{
#ifdef VT_ROWS
    for (int i = 0; i < 6; i++, A += 6, C += 6) {
        vt_four c = *(vt_four *)C;
        vt_two d = *(vt_two *)(C + 4);
        for (int k = 0; k < 6; k++) {
            c -= A[k] * *(const vt_four *)(B + 6 * k);
            d -= A[k] * *(const vt_two *)(B + 6 * k + 4);
        }
        *(vt_four *)C = c;
        *(vt_two *)(C + 4) = d;
    }
#else
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            for (int j = 0; j < 6; j++) C[6 * i + j] -= A[6 * i + k] * B[6 * k + j];
#endif
}

/* Y = T W of three rows w of six columns; `stride` between the rows of T */
VT_INLINE void vt_three_sixes(const double *T, ptrdiff_t stride, const double *w0, const double *w1, const double *w2,
                              double *Y)
{
#ifdef VT_ROWS
    const vt_four a = *(const vt_four *)w0, b = *(const vt_four *)w1, c = *(const vt_four *)w2;
    const vt_two d = *(const vt_two *)(w0 + 4), e = *(const vt_two *)(w1 + 4), f = *(const vt_two *)(w2 + 4);
    for (int k = 0; k < 3; k++, T += stride, Y += 6) {
        *(vt_four *)Y = T[0] * a + T[1] * b + T[2] * c;
        *(vt_two *)(Y + 4) = T[0] * d + T[1] * e + T[2] * f;
    }
#else
    for (int k = 0; k < 3; k++, T += stride, Y += 6)
        for (int j = 0; j < 6; j++) Y[j] = T[0] * w0[j] + T[1] * w1[j] + T[2] * w2[j];
#endif
}

/* out = A b of six rows and columns, as vt_inner of each row */
VT_INLINE void vt_times_six(const double *A, ptrdiff_t stride, const double *b, double *out)
{
    for (int k = 0; k < 6; k++, A += stride) out[k] = vt_inner(6, A, b);
}

/* a^T A b of six rows and columns: the products of the columns of a^T A and b are added one after the other */
VT_INLINE double vt_form_six(const double *a, const double *A, ptrdiff_t stride, const double *b)
{
    double c[6];
#ifdef VT_ROWS
    vt_four u = a[0] * *(const vt_four *)A;
    vt_two v = a[0] * *(const vt_two *)(A + 4);
    for (int k = 1; k < 6; k++) {
        u += a[k] * *(const vt_four *)(A + k * stride);
        v += a[k] * *(const vt_two *)(A + k * stride + 4);
    }
    *(vt_four *)c = u * *(const vt_four *)b;
    *(vt_two *)(c + 4) = v * *(const vt_two *)(b + 4);
#else
    for (int j = 0; j < 6; j++) {
        c[j] = a[0] * A[j];
        for (int k = 1; k < 6; k++) c[j] += a[k] * A[k * stride + j];
        c[j] *= b[j];
    }
#endif
    return ((((c[0] + c[1]) + c[2]) + c[3]) + c[4]) + c[5];
}

/* C += p Y of so many rows p of three columns and six columns of Y; `stride` between the columns of p and the rows of C */
VT_INLINE void vt_add_three(int rows, const double *p0, const double *p1, const double *p2, const double *Y, ptrdiff_t stride,
                            double *C)
{
#ifdef VT_ROWS
    const vt_four a = *(const vt_four *)Y, b = *(const vt_four *)(Y + 6), c = *(const vt_four *)(Y + 12);
    const vt_two d = *(const vt_two *)(Y + 4), e = *(const vt_two *)(Y + 10), f = *(const vt_two *)(Y + 16);
    for (int k = 0; k < rows; k++, C += stride) {
        *(vt_four *)C += p0[k] * a + p1[k] * b + p2[k] * c;
        *(vt_two *)(C + 4) += p0[k] * d + p1[k] * e + p2[k] * f;
    }
#else
    for (int k = 0; k < rows; k++, C += stride)
        for (int j = 0; j < 6; j++) C[j] += p0[k] * Y[j] + p1[k] * Y[6 + j] + p2[k] * Y[12 + j];
#endif
}

/* B <- A^-1 B of six rows, by A's triangular factors with partial pivoting; both are six columns wide */
VT_INLINE void vt_solve_six(const double *A, const int *order, double *B)
{
    for (int k = 0; k < 6; k++)
        if (order[k] != k)
            for (int j = 0; j < 6; j++) {
                double s = B[6 * order[k] + j];
                B[6 * order[k] + j] = B[6 * k + j];
                B[6 * k + j] = s;
            }
#ifdef VT_ROWS
    vt_four b[6];
    vt_two c[6];
    for (int k = 0; k < 6; k++) {
        b[k] = *(vt_four *)(B + 6 * k);
        c[k] = *(vt_two *)(B + 6 * k + 4);
        for (int j = 0; j < k; j++) {
            b[k] -= A[6 * k + j] * b[j];
            c[k] -= A[6 * k + j] * c[j];
        }
    }
    for (int k = 5; k >= 0; k--) {
        for (int j = k + 1; j < 6; j++) {
            b[k] -= A[6 * k + j] * b[j];
            c[k] -= A[6 * k + j] * c[j];
        }
        double s = 1.0 / A[7 * k];
        b[k] *= s;
        c[k] *= s;
        *(vt_four *)(B + 6 * k) = b[k];
        *(vt_two *)(B + 6 * k + 4) = c[k];
    }
#else
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < k; j++)
            for (int i = 0; i < 6; i++) B[6 * k + i] -= A[6 * k + j] * B[6 * j + i];
    for (int k = 5; k >= 0; k--) {
        for (int j = k + 1; j < 6; j++)
            for (int i = 0; i < 6; i++) B[6 * k + i] -= A[6 * k + j] * B[6 * j + i];
        double s = 1.0 / A[7 * k];
        for (int i = 0; i < 6; i++) B[6 * k + i] *= s;
    }
#endif
}

#else /* of several lanes */
VT_INLINE void vt_add_row(ptrdiff_t n, vt_real s, const vt_real *x, vt_real *y)
{
    for (ptrdiff_t k = 0; k < n; k++) y[k] += s * x[k];
}

VT_INLINE vt_real vt_inner(ptrdiff_t n, const vt_real *a, const vt_real *b)
{
    ptrdiff_t k = 0;
    vt_real even = {0.0}, odd = {0.0};
    for (; k < n - 1; k += 2) {
        even += a[k] * b[k];
        odd += a[k + 1] * b[k + 1];
    }
    return even + odd + (k < n ? a[k] * b[k] : vt_set1(0.0));
}

VT_INLINE void vt_times_six(const vt_real *A, ptrdiff_t stride, const vt_real *b, vt_real *out)
{
    for (int k = 0; k < 6; k++, A += stride) out[k] = vt_inner(6, A, b);
}

VT_INLINE vt_real vt_form_six(const vt_real *a, const vt_real *A, ptrdiff_t stride, const vt_real *b)
{
    vt_real c[6];
    for (int j = 0; j < 6; j++) {
        c[j] = a[0] * A[j];
        for (int k = 1; k < 6; k++) c[j] += a[k] * A[k * stride + j];
        c[j] *= b[j];
    }
    return ((((c[0] + c[1]) + c[2]) + c[3]) + c[4]) + c[5];
}
#endif

/* y += s[0] x[0] + s[1] x[1] + s[2] x[2] + s[3] x[3], one after the other, of rows that follow one another */
VT_INLINE void vt_add_four_rows(ptrdiff_t n, const vt_real *s, const vt_real *restrict x, vt_real *restrict y)
{
    const vt_real a = s[0], b = s[1], c = s[2], d = s[3], *x1 = x + n, *x2 = x1 + n, *x3 = x2 + n;
    for (ptrdiff_t k = 0; k < n; k++) {
        vt_real t = y[k] + a * x[k];
        t += b * x1[k];
        t += c * x2[k];
        y[k] = t + d * x3[k];
    }
}

/* Rows of three-vectors: the numbers along x, those along y `stride` further, those along z as far again. */
#if VT_WIDTH == 1 && defined(VT_ROWS)
#define VT_FOURS(n) for (; k < (n) - 3; k += 4)
#define VT_FOUR(x) (*(vt_four *)(x))
#endif

/* Whether no number is NaN or infinite: the others less themselves are zero. */
static inline int vt_all_finite(const double *x, ptrdiff_t n)
{
    uint64_t bits, found = 0;
    ptrdiff_t k = 0;
#ifdef VT_FOURS
    typedef uint64_t four_bits __attribute__((vector_size(32)));
    four_bits any = {0};
    VT_FOURS(n) any |= (four_bits)(VT_FOUR(x + k) - VT_FOUR(x + k));
    found = any[0] | any[1] | any[2] | any[3];
#endif
    for (; k < n; k++) {
        double none = x[k] - x[k];
        memcpy(&bits, &none, sizeof bits);
        found |= bits;
    }
    return found == 0;
}

/* out = a.b of each b */
VT_INLINE void vt_dots(ptrdiff_t n, ptrdiff_t stride, const vt_real *a, const vt_real *b, vt_real *out)
{
    const vt_real x = a[0], y = a[1], z = a[2], *by = b + stride, *bz = by + stride;
    ptrdiff_t k = 0;
#ifdef VT_FOURS
    VT_FOURS(n) VT_FOUR(out + k) = x * VT_FOUR(b + k) + y * VT_FOUR(by + k) + z * VT_FOUR(bz + k);
#endif
    for (; k < n; k++) out[k] = x * b[k] + y * by[k] + z * bz[k];
}

/* out = w.n + v.f of each f, with its n; the rows of n are behind those of f */
VT_INLINE void vt_pairings(ptrdiff_t n, ptrdiff_t stride, const vt_real *w, const vt_real *v, const vt_real *f,
                           vt_real *out)
{
    const vt_real x = v[0], y = v[1], z = v[2], *fy = f + stride, *fz = fy + stride;
    ptrdiff_t k = 0;
    vt_dots(n, stride, w, f + 3 * stride, out);
#ifdef VT_FOURS
    VT_FOURS(n) VT_FOUR(out + k) += x * VT_FOUR(f + k) + y * VT_FOUR(fy + k) + z * VT_FOUR(fz + k);
#endif
    for (; k < n; k++) out[k] += x * f[k] + y * fy[k] + z * fz[k];
}

/* c += a x b of each b, with its c */
VT_INLINE void vt_crosses(ptrdiff_t n, ptrdiff_t stride, const vt_real *a, const vt_real *b, vt_real *c)
{
    const vt_real x = a[0], y = a[1], z = a[2], *by = b + stride, *bz = by + stride;
    vt_real *cy = c + stride, *cz = cy + stride;
    ptrdiff_t k = 0;
#ifdef VT_FOURS
    VT_FOURS(n) {
        const vt_four u = VT_FOUR(b + k), v = VT_FOUR(by + k), w = VT_FOUR(bz + k);
        VT_FOUR(c + k) += y * w - z * v;
        VT_FOUR(cy + k) += z * u - x * w;
        VT_FOUR(cz + k) += x * v - y * u;
    }
#endif
    for (; k < n; k++) {
        const vt_real u = b[k], v = by[k], w = bz[k];
        c[k] += y * w - z * v;
        cy[k] += z * u - x * w;
        cz[k] += x * v - y * u;
    }
}

/* out = the sum of `count` rows, `stride` apart, each times its number of c; entries of out are `step` apart. Three
 * numbers behind each row must be there to be read. */
VT_INLINE void vt_sums(int count, ptrdiff_t n, ptrdiff_t stride, const vt_real *c, const vt_real *rows, ptrdiff_t step,
                       vt_real *out)
{
    ptrdiff_t k;
    int r;
#ifdef VT_FOURS
    for (k = 0; k < n; k += 4) {
        const int left = n - k < 4 ? (int)(n - k) : 4;
        vt_four s = c[0] * VT_FOUR(rows + k);
        for (r = 1; r < count; r++) s += c[r] * VT_FOUR(rows + r * stride + k);
        if (step == 1 && left == 4)
            VT_FOUR(out + k) = s;
        else
            for (r = 0; r < left; r++) out[(k + r) * step] = s[r];
    }
#else
    for (k = 0; k < n; k++) {
        vt_real s = c[0] * rows[k];
        for (r = 1; r < count; r++) s += c[r] * rows[r * stride + k];
        out[k * step] = s;
    }
#endif
}

/* Columns of a matrix abreast: of one lane a vector is of four columns, else a column is of several lanes. */
#ifdef VT_FOURS
typedef vt_four vt_columns;
#define VT_COLUMNS 4
VT_INLINE vt_columns vt_take(const vt_real *a) { return VT_FOUR(a); }
VT_INLINE void vt_give(vt_columns x, vt_real *a) { VT_FOUR(a) = x; }
#else
typedef vt_real vt_columns;
#define VT_COLUMNS 1
VT_INLINE vt_columns vt_take(const vt_real *a) { return *a; }
VT_INLINE void vt_give(vt_columns x, vt_real *a) { *a = x; }
#endif
VT_INLINE vt_columns vt_nothing(void)
{
    const vt_columns x = {0};
    return x;
}

/* Axes that are kept in registers from body to body: a rotation by columns. Of one lane each column is a vector. */
#ifdef VT_FOURS
typedef struct { vt_four x, y, z; } vt_axes;
VT_INLINE vt_four vt_along(const vt_axes *A, const double *b) { return A->x * b[0] + A->y * b[1] + A->z * b[2]; }
VT_INLINE void vt_put3(double *to, vt_four a)
{
    *(vt_two *)to = (vt_two){a[0], a[1]};
    to[2] = a[2];
}
/* A from nine numbers, by columns */
VT_INLINE void vt_axes_begin(vt_axes *A, const double *b)
{
    A->x = (vt_four){b[0], b[1], b[2], 0.0};
    A->y = (vt_four){b[3], b[4], b[5], 0.0};
    A->z = (vt_four){b[6], b[7], b[8], 0.0};
}
/* to = A b, three numbers */
VT_INLINE void vt_axes_times(const vt_axes *A, const double *b, double *to) { vt_put3(to, vt_along(A, b)); }
/* to = A = A b, nine numbers */
VT_INLINE void vt_axes_turn(vt_axes *A, const double *b, double *to)
{
    const vt_axes C = {vt_along(A, b), vt_along(A, b + 3), vt_along(A, b + 6)};
    vt_put3(to, C.x);
    vt_put3(to + 3, C.y);
    vt_put3(to + 6, C.z);
    *A = C;
}
#else
typedef struct { vt_real at[9]; } vt_axes;
VT_INLINE void vt_axes_begin(vt_axes *A, const vt_real *b) { memcpy(A->at, b, sizeof A->at); }
VT_INLINE void vt_axes_times(const vt_axes *A, const vt_real *b, vt_real *to)
{
    const vt_real *a = A->at, x = b[0], y = b[1], z = b[2];
    to[0] = a[0] * x + a[3] * y + a[6] * z;
    to[1] = a[1] * x + a[4] * y + a[7] * z;
    to[2] = a[2] * x + a[5] * y + a[8] * z;
}
VT_INLINE void vt_axes_turn(vt_axes *A, const vt_real *b, vt_real *to)
{
    vt_axes_times(A, b, to);
    vt_axes_times(A, b + 3, to + 3);
    vt_axes_times(A, b + 6, to + 6);
    vt_axes_begin(A, to);
}
#endif

/* Structs of `count` doubles, one a lane and `stride` doubles apart, from memory and back. */
#if defined(VT_ROWS) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define VT_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#if VT_WIDTH == 4 && defined(VT_PICK)
#define VT_EVEN 0, 4, 2, 6
#define VT_ODD 1, 5, 3, 7
#define VT_LOW 0, 1, 4, 5
#define VT_HIGH 2, 3, 6, 7
VT_INLINE vt_real vt_take_rows(double *const *a, int i) { return (vt_real)*(const vt_four *)(a[0] + i); }
VT_INLINE void vt_give_rows(vt_real x, double *const *a, int i) { *(vt_four *)(a[0] + i) = (vt_four)x; }
#define VT_TRANSPOSES 1
#elif VT_WIDTH == 8 && defined(VT_PICK)
/* four numbers of two lanes, which are four lanes apart, in one vector: its halves are transposed alike */
#define VT_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define VT_ODD 1, 9, 3, 11, 5, 13, 7, 15
#define VT_LOW 0, 1, 8, 9, 4, 5, 12, 13
#define VT_HIGH 2, 3, 10, 11, 6, 7, 14, 15
VT_INLINE vt_real vt_take_rows(double *const *a, int i)
{
    const vt_four low = *(const vt_four *)(a[0] + i), high = *(const vt_four *)(a[4] + i);
    return (vt_real)VT_PICK(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
VT_INLINE void vt_give_rows(vt_real x, double *const *a, int i)
{
    *(vt_four *)(a[0] + i) = (vt_four)VT_PICK(x, x, 0, 1, 2, 3);
    *(vt_four *)(a[4] + i) = (vt_four)VT_PICK(x, x, 4, 5, 6, 7);
}
#define VT_TRANSPOSES 1
#endif
#ifdef VT_TRANSPOSES
/* four numbers of four lanes: rows become columns */
VT_INLINE void vt_transpose(vt_real *a, vt_real *b, vt_real *c, vt_real *d)
{
    vt_real p = VT_PICK(*a, *b, VT_EVEN), q = VT_PICK(*a, *b, VT_ODD);
    vt_real r = VT_PICK(*c, *d, VT_EVEN), s = VT_PICK(*c, *d, VT_ODD);
    *a = VT_PICK(p, r, VT_LOW);
    *b = VT_PICK(q, s, VT_LOW);
    *c = VT_PICK(p, r, VT_HIGH);
    *d = VT_PICK(q, s, VT_HIGH);
}
#endif

VT_INLINE void vt_gather_rows(double *const *a, vt_real *to, int count)
{
    int i = 0, k;
#ifdef VT_TRANSPOSES
    for (; i + 4 <= count; i += 4) {
        vt_real r0 = vt_take_rows(a, i), r1 = vt_take_rows(a + 1, i), r2 = vt_take_rows(a + 2, i), r3 = vt_take_rows(a + 3, i);
        vt_transpose(&r0, &r1, &r2, &r3);
        to[i] = r0;
        to[i + 1] = r1;
        to[i + 2] = r2;
        to[i + 3] = r3;
    }
#endif
    for (; i < count; i++)
        for (k = 0; k < VT_WIDTH; k++) vt_put(&to[i], k, a[k][i]);
}
VT_INLINE void vt_scatter_rows(const vt_real *from, double *const *a, int count)
{
    int i = 0, k;
#ifdef VT_TRANSPOSES
    for (; i + 4 <= count; i += 4) {
        vt_real r0 = from[i], r1 = from[i + 1], r2 = from[i + 2], r3 = from[i + 3];
        vt_transpose(&r0, &r1, &r2, &r3);
        vt_give_rows(r0, a, i);
        vt_give_rows(r1, a + 1, i);
        vt_give_rows(r2, a + 2, i);
        vt_give_rows(r3, a + 3, i);
    }
#endif
    for (; i < count; i++)
        for (k = 0; k < VT_WIDTH; k++) a[k][i] = vt_get(from[i], k);
}
VT_INLINE void vt_gather(const double *a, ptrdiff_t stride, vt_real *to, int count)
{
    double *rows[VT_WIDTH];
    for (int k = 0; k < VT_WIDTH; k++) rows[k] = (double *)a + k * stride;
    vt_gather_rows(rows, to, count);
}
VT_INLINE void vt_scatter(const vt_real *from, double *a, ptrdiff_t stride, int count)
{
    double *rows[VT_WIDTH];
    for (int k = 0; k < VT_WIDTH; k++) rows[k] = a + k * stride;
    vt_scatter_rows(from, rows, count);
}

VT_INLINE vt_real vt_max(vt_real a, vt_real b) { return vt_select(vt_lt(a, b), b, a); }
/* the larger of two sizes; a NaN on either side comes through */
VT_INLINE vt_real vt_max_nan(vt_real a, vt_real b) { return vt_select(vt_le(b, a), a, vt_select(vt_le(a, b), b, a + b)); }

/* The largest |x|, NaN if there is one. As integers, the bits of numbers without signs are in the order of these, and those of
   NaN behind all of them */
VT_INLINE vt_real vt_largest(const vt_real *x, int n)
{
    vt_real most = vt_set1(0.0);
    int k = 0;
#if VT_WIDTH == 1 && defined(VT_ROWS)
    typedef long long vt_counts __attribute__((vector_size(32)));
    vt_counts top = {0, 0, 0, 0}, now, larger;
    for (; k < n - 3; k += 4) {
        now = (vt_counts) * (const vt_four *)(x + k) & 0x7fffffffffffffffLL;
        larger = now > top;
        top = (larger & now) | (~larger & top);
    }
    for (int j = 0; j < 4; j++) most = vt_max_nan(most, ((vt_four)top)[j]);
#endif
    for (; k < n; k++) most = vt_max_nan(most, vt_abs(x[k]));
    return most;
}

/* ---- sine and cosine ------------------------------------------------------------------------ */

/* x mod pi/2 for |x| >= 2^20 (Payne and Hanek 1983): multiply the 53 bits of x by the 192 bits of
 * 2/pi that can matter. Returns the quadrant; the rest is *y0 + *y1, within pi/4 of zero. */
static int vt_reduce_large(double x, double *y0, double *y1)
{
    static const uint32_t words[] = VT_TWO_OVER_PI_WORDS;
    uint64_t bits, mantissa, carry = 0;
    uint32_t window[6], product[8];
    int exponent, skip, point, k, negative, quadrant, zeros;
    double hi, lo, tail, scale, split, a, b, c, d;

    memcpy(&bits, &x, 8);
    exponent = (int)((bits >> 52) & 0x7ff) - 1075;
    if (exponent > 971) { /* infinite or NaN */
        *y0 = *y1 = x - x;
        return 0;
    }
    mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    negative = (int)(bits >> 63);
    skip = exponent > 2 ? exponent - 2 : 0; /* these bits of 2/pi give multiples of four */
    for (k = 0; k < 6; k++) {               /* window[5] is the most significant word */
        int word = skip / 32 + 5 - k, shift = skip % 32;
        uint64_t pair = ((uint64_t)words[word] << 32) | words[word + 1];
        window[k] = (uint32_t)((pair << shift) >> 32);
    }
    for (k = 0; k < 8; k++) product[k] = 0;
    for (k = 0; k < 6; k++) { /* low half of the mantissa */
        carry += (uint64_t)window[k] * (uint32_t)mantissa;
        product[k] = (uint32_t)carry;
        carry >>= 32;
    }
    product[6] = (uint32_t)carry;
    carry = 0;
    for (k = 0; k < 6; k++) { /* high half */
        carry += (uint64_t)window[k] * (uint32_t)(mantissa >> 32) + product[k + 1];
        product[k + 1] = (uint32_t)carry;
        carry >>= 32;
    }
    product[7] = (uint32_t)carry;
    /* shift so that the binary point is below the top two bits of 256 */
    point = 192 + skip - exponent;
    for (zeros = 254 - point; zeros > 0;) {
        int step = zeros > 31 ? 31 : zeros;
        for (k = 7; k > 0; k--) product[k] = (product[k] << step) | (product[k - 1] >> (32 - step));
        product[0] <<= step;
        zeros -= step;
    }
    quadrant = (int)(product[7] >> 30);
    product[7] = (product[7] << 2) | (product[6] >> 30);
    for (k = 6; k > 0; k--) product[k] = (product[k] << 2) | (product[k - 1] >> 30);
    product[0] <<= 2;
    if (product[7] >> 31) { /* above one half: the next quadrant, from the other side */
        quadrant += 1;
        negative ^= 1;
        carry = 1;
        for (k = 0; k < 8; k++) {
            carry += (uint32_t)~product[k];
            product[k] = (uint32_t)carry;
            carry >>= 32;
        }
        if (bits >> 63) quadrant = -quadrant;
    } else if (bits >> 63)
        quadrant = -quadrant;
    /* normalise, then the top 128 bits as hi + lo */
    scale = 1.0;
    for (zeros = 0; zeros < 200 && !(product[7] >> 31); zeros++) {
        for (k = 7; k > 0; k--) product[k] = (product[k] << 1) | (product[k - 1] >> 31);
        product[0] <<= 1;
        scale *= 0.5;
    }
    a = product[7] * 0x1p-32;
    b = product[6] * 0x1p-64;
    hi = a + b;
    lo = ((a - hi) + b) + (product[5] * 0x1p-96 + product[4] * 0x1p-128);
    /* times pi/2, the first product exactly (Dekker 1971) */
    tail = hi * VT_PIO2_HIGH;
    split = hi * 134217729.0;
    a = split - (split - hi);
    b = hi - a;
    split = VT_PIO2_HIGH * 134217729.0;
    c = split - (split - VT_PIO2_HIGH);
    d = VT_PIO2_HIGH - c;
    lo = (((a * c - tail) + a * d + b * c) + b * d) + (hi * VT_PIO2_LOW + lo * VT_PIO2_HIGH);
    if (negative) scale = -scale;
    *y0 = scale * (tail + lo);
    *y1 = scale * ((tail - (tail + lo)) + lo);
    return quadrant;
}

/* sin and cos of any double, error below one unit in the last place */
VT_INLINE void vt_sincos(vt_real x, vt_real *sine, vt_real *cosine)
{
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    vt_real n, r, w, e, y0, y1, s, ps, pc, shifted;
    vt_mask quadrant, swap;

    if (vt_all(vt_le(vt_abs(x), vt_set1(0.78)))) {
        /* the same operations as below with n = 0 */
        s = x * x;
        w = 0.5 * s;
        e = 1.0 - w;
        *sine = x + x * s * VT_POLY_SIN(s);
        *cosine = e + (((1.0 - e) - w) + s * s * VT_POLY_COS(s));
        return;
    }
    shifted = x * VT_TWO_OVER_PI + magic;
    n = shifted - magic;
#if VT_WIDTH == 1
    memcpy(&quadrant, &shifted, 8);
#else
    quadrant = (vt_mask)shifted;
#endif
    /* Cody and Waite 1980, in three parts with the rounding of each carried on */
    r = x - n * VT_PIO2_1;
    w = r - n * VT_PIO2_2;
    e = n * VT_PIO2_3 - ((r - w) - n * VT_PIO2_2);
    y0 = w - e;
    y1 = (w - y0) - e;
    if (VT_UNLIKELY(!vt_all(vt_lt(vt_abs(x), vt_set1(1048576.0))))) {
        for (int k = 0; k < VT_WIDTH; k++) {
            double a, b;
            int q;
            if (vt_get(vt_abs(x), k) < 1048576.0) continue;
            q = vt_reduce_large(vt_get(x, k), &a, &b);
            vt_put(&y0, k, a);
            vt_put(&y1, k, b);
#if VT_WIDTH == 1
            quadrant = q;
#else
            quadrant[k] = q;
#endif
        }
    }
    s = y0 * y0;
    ps = y0 + (y0 * s * VT_POLY_SIN(s) + y1 * (1.0 - 0.5 * s));
    w = 0.5 * s;
    e = 1.0 - w;
    pc = e + (((1.0 - e) - w) + (s * s * VT_POLY_COS(s) - y0 * y1));
    swap = -(quadrant & 1);
#if VT_WIDTH == 1
    *sine = swap ? pc : ps;
    *cosine = swap ? ps : pc;
    if (quadrant & 2) *sine = -*sine;
    if ((quadrant + 1) & 2) *cosine = -*cosine;
#else
    *sine = (vt_real)((vt_mask)vt_select(swap, pc, ps) ^ ((quadrant & 2) << 62));
    *cosine = (vt_real)((vt_mask)vt_select(swap, ps, pc) ^ (((quadrant + 1) & 2) << 62));
#endif
}

/* ---- half angles and the functions of theta^2 ------------------------------------------------ */

/* An angle of the first quadrant by its sine and cosine, of any size but not both zero: big + tail + atan(t) */
VT_INLINE vt_real vt_atan_parts(vt_real s, vt_real c, vt_real *big, vt_real *tail)
{
    const double tan_pi_8 = 0.41421356237309503;
    vt_mask low = vt_le(s, c * tan_pi_8), high = vt_lt(c, s * tan_pi_8);
    vt_real numerator = vt_select(low, s, vt_select(high, -c, s - c));
    vt_real denominator = vt_select(low, c, vt_select(high, s, s + c)), zero = vt_set1(0.0);
    *big = vt_select(low, zero, vt_select(high, vt_set1(VT_PIO2_HIGH), vt_set1(VT_PIO4_HIGH)));
    *tail = vt_select(low, zero, vt_select(high, vt_set1(VT_PIO2_LOW), vt_set1(VT_PIO4_LOW)));
    return numerator / denominator;
}

/* atan2(s, c) for s >= 0 and c >= 0, not both zero */
VT_INLINE vt_real vt_atan2_first_quadrant(vt_real s, vt_real c)
{
    vt_real big, tail, t = vt_atan_parts(s, c, &big, &tail), u = t * t;
    return big + (t + (t * u * VT_POLY_ATAN(u) + tail));
}

/* atan2(s, c), from -pi to pi, error below 1.5 units in the last place; of no direction, (0, 0), it is 0, and the sign of
 * a zero does not count. */
VT_INLINE vt_real vt_atan2(vt_real s, vt_real c)
{
    vt_real zero = vt_set1(0.0), size = vt_abs(s), width = vt_abs(c), big, tail, t, u, a;
    vt_mask left = vt_lt(c, zero);
    t = vt_atan_parts(size, vt_select(vt_le(size + width, zero), vt_set1(1.0), width), &big, &tail);
    u = t * t;
    a = vt_select(left, vt_set1(-1.0), vt_set1(1.0));
    big = vt_select(left, 2.0 * VT_PIO2_HIGH - big, big);
    tail = vt_select(left, 2.0 * VT_PIO2_LOW - tail, tail);
    a = big + (a * t + (a * t * u * VT_POLY_ATAN(u) + tail));
    return vt_select(vt_lt(s, zero), -a, a);
}

/* For a unit quaternion (u, c) with c >= 0 and uu = |u|^2: half the angle over |u|. */
VT_INLINE vt_real vt_half_angle_ratio(vt_real uu, vt_real c)
{
    vt_mask small = vt_le(uu, vt_set1(1.0 / 256.0));
    vt_real near = 1.0 + uu * VT_POLY_ASIN_SMALL(uu), s;
    if (vt_all(small)) return near;
    s = vt_sqrt(uu);
    return vt_select(small, near, vt_atan2_first_quadrant(s, c) / vt_select(small, vt_set1(1.0), s));
}

/* One of two polynomials in s = theta^2, by the size of s. */
#define VT_TIERS(name, s, value)                                                   \
    do {                                                                           \
        vt_mask vt_small = vt_le((s), vt_set1(0.015625));                          \
        (value) = VT_POLY_##name##_SMALL(s);                                       \
        if (VT_UNLIKELY(!vt_all(vt_small)))                                        \
            (value) = vt_select(vt_small, (value), VT_POLY_##name##_MIDDLE(s));    \
    } while (0)

/* Coefficients of the logarithm of a rotation by a vector w of length theta:
 *   gamma = (1 - g)/s with g = (theta/2) cot(theta/2);    psi = (theta/2)^2/sin^2(theta/2) = 1 - kappa s
 * and x1, x2 their first and second (1/theta) d/dtheta. s = theta^2; g is given by the caller, who
 * knows the half angle's sine and cosine. Closed forms lose digits near zero, hence polynomials
 * below theta = 1.5. */
VT_INLINE void vt_log_coefficients(vt_real s, vt_real g, vt_real *gamma, vt_real *kappa, vt_real *kappa1)
{
    vt_real a, b, c, psi;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(GAMMA, s, a);
    VT_TIERS(KAPPA, s, b);
    VT_TIERS(KAPPA1, s, c);
    if (VT_UNLIKELY(vt_any(far))) {
        vt_real t = vt_select(far, s, vt_set1(1.0));
        vt_real fa = (1.0 - g) / t;
        psi = g * g + 0.25 * s;
        a = vt_select(far, fa, a);
        b = vt_select(far, (1.0 - psi) / t, b);
        c = vt_select(far, -2.0 * (psi * fa + b) / t, c);
    }
    *gamma = a;
    *kappa = b;
    *kappa1 = c;
}

/* gamma alone */
VT_INLINE vt_real vt_gamma(vt_real s, vt_real g)
{
    vt_real a;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(GAMMA, s, a);
    if (VT_UNLIKELY(vt_any(far)))
        a = vt_select(far, (1.0 - g) / vt_select(far, s, vt_set1(1.0)), a);
    return a;
}

/* gamma1 alone */
VT_INLINE vt_real vt_gamma1(vt_real s, vt_real g, vt_real gamma)
{
    vt_real a;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(GAMMA1, s, a);
    if (VT_UNLIKELY(vt_any(far)))
        a = vt_select(far, (0.25 - gamma * (2.0 + g)) / vt_select(far, s, vt_set1(1.0)), a);
    return a;
}

/* gamma1, gamma2, kappa2 on top of the above */
VT_INLINE void vt_log_coefficients2(vt_real s, vt_real g, vt_real gamma, vt_real kappa, vt_real kappa1,
                                    vt_real *gamma1, vt_real *gamma2, vt_real *kappa2)
{
    vt_real a, b, c;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(GAMMA1, s, a);
    VT_TIERS(GAMMA2, s, b);
    VT_TIERS(KAPPA2, s, c);
    if (VT_UNLIKELY(vt_any(far))) {
        vt_real t = vt_select(far, s, vt_set1(1.0)), psi = 1.0 - kappa * s;
        a = vt_select(far, (0.25 - gamma * (2.0 + g)) / t, a);
        b = vt_select(far, -(a * (4.0 + g) + gamma * (g * gamma - 0.25)) / t, b);
        c = vt_select(far, -(2.0 * (2.0 * psi * gamma * gamma + psi * a) + 4.0 * kappa1) / t, c);
    }
    *gamma1 = a;
    *gamma2 = b;
    *kappa2 = c;
}

/* beta = (1 - cos theta)/s and delta = (1 - sin(theta)/theta)/s, theta = sqrt(s) of any size */
VT_INLINE void vt_exp_coefficients(vt_real s, vt_real *beta, vt_real *delta)
{
    vt_real a, b;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(BETA, s, a);
    VT_TIERS(DELTA, s, b);
    if (VT_UNLIKELY(vt_any(far))) {
        vt_real t = vt_select(far, s, vt_set1(1.0)), theta = vt_sqrt(t), sine, cosine;
        vt_sincos(0.5 * theta, &sine, &cosine);
        a = vt_select(far, 2.0 * sine * sine / t, a);
        b = vt_select(far, (1.0 - 2.0 * sine * cosine / theta) / t, b);
    }
    *beta = a;
    *delta = b;
}

/* their (1/theta) d/dtheta on top */
VT_INLINE void vt_exp_coefficients2(vt_real s, vt_real beta, vt_real delta, vt_real *beta1, vt_real *delta1)
{
    vt_real a, b;
    vt_mask far = vt_lt(vt_set1(2.25), s);
    VT_TIERS(BETA1, s, a);
    VT_TIERS(DELTA1, s, b);
    if (VT_UNLIKELY(vt_any(far))) {
        vt_real t = vt_select(far, s, vt_set1(1.0));
        a = vt_select(far, (1.0 - s * delta - 2.0 * beta) / t, a);
        b = vt_select(far, (beta - 3.0 * delta) / t, b);
    }
    *beta1 = a;
    *delta1 = b;
}

#endif
