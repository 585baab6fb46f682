/* Poses in memory, one after another: the rows of [R p], 12 doubles each. A row is a vector of four numbers, whatever the
 * lanes are. Results may take the place of arguments.
 */
#ifndef VT_POSE_H
#define VT_POSE_H

#include "lane.h"

/* Z = X Y: R_X R_Y, and R_X p_Y + p_X. A row of Z is x_0 Y_0 + x_1 Y_1 + x_2 Y_2, and x_3 more on the position */
VT_INLINE void vt_pose_product(const double *X, const double *Y, double *Z)
{
    int i;
#ifdef VT_PICK
    const vt_four a = *(const vt_four *)Y, b = *(const vt_four *)(Y + 4), c = *(const vt_four *)(Y + 8);
    for (i = 0; i < 12; i += 4) {
        const vt_four x = *(const vt_four *)(X + i);
        const vt_four s = X[i] * a + X[i + 1] * b + X[i + 2] * c, t = s + x;
        *(vt_four *)(Z + i) = VT_PICK(s, t, 0, 1, 2, 7);
    }
#else
    double row[12];
    int j;
    for (i = 0; i < 12; i += 4) {
        for (j = 0; j < 4; j++) row[i + j] = X[i] * Y[j] + X[i + 1] * Y[4 + j] + X[i + 2] * Y[8 + j];
        row[i + 3] += X[i + 3];
    }
    memcpy(Z, row, sizeof row);
#endif
}

/* Y = X^-1: R^T, and -R^T p */
VT_INLINE void vt_pose_inverse(const double *X, double *Y)
{
#ifdef VT_PICK
    const vt_four a = *(const vt_four *)X, b = *(const vt_four *)(X + 4), c = *(const vt_four *)(X + 8);
    const vt_four t = -(X[3] * a + X[7] * b + X[11] * c);
    /* the columns of a, b, c, t */
    const vt_four p = VT_PICK(a, b, 0, 4, 2, 6), q = VT_PICK(c, t, 0, 4, 2, 6);
    const vt_four r = VT_PICK(a, b, 1, 5, 3, 7), s = VT_PICK(c, t, 1, 5, 3, 7);
    *(vt_four *)Y = VT_PICK(p, q, 0, 1, 4, 5);
    *(vt_four *)(Y + 4) = VT_PICK(r, s, 0, 1, 4, 5);
    *(vt_four *)(Y + 8) = VT_PICK(p, q, 2, 3, 6, 7);
#else
    double row[12];
    int i, j;
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) row[4 * i + j] = X[4 * j + i];
        row[4 * i + 3] = -(X[3] * X[i] + X[7] * X[4 + i] + X[11] * X[8 + i]);
    }
    memcpy(Y, row, sizeof row);
#endif
}

/* the last row of a 4 x 4 matrix, behind the other three */
VT_INLINE void vt_pose_close(double *X)
{
#ifdef VT_PICK
    *(vt_four *)(X + 12) = (vt_four){0.0, 0.0, 0.0, 1.0};
#else
    X[12] = X[13] = X[14] = 0.0;
    X[15] = 1.0;
#endif
}

/* Many of them: x, y, z numbers from one to the next; 16 for z where last rows are wanted */
static void vt_pose_products(ptrdiff_t n, const double *X, ptrdiff_t x, const double *Y, ptrdiff_t y, double *Z, ptrdiff_t z)
{
    if (z == 16)
        for (; n > 0; n--, X += x, Y += y, Z += 16) {
            vt_pose_product(X, Y, Z);
            vt_pose_close(Z);
        }
    else
        for (; n > 0; n--, X += x, Y += y, Z += 12) vt_pose_product(X, Y, Z);
}

static void vt_pose_inverses(ptrdiff_t n, const double *X, ptrdiff_t x, double *Y, ptrdiff_t y)
{
    if (y == 16)
        for (; n > 0; n--, X += x, Y += 16) {
            vt_pose_inverse(X, Y);
            vt_pose_close(Y);
        }
    else
        for (; n > 0; n--, X += x, Y += 12) vt_pose_inverse(X, Y);
}

#endif
