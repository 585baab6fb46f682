/* What this CPU runs, asked by a module and, when the core is built, by setup.py; compiled for the platform's baseline. */
#ifndef VT_CPU_H
#define VT_CPU_H

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
static int vt_runs(int width) {
    __builtin_cpu_init();
    if (width <= 2) return 1;
    if (width == 4) return __builtin_cpu_supports("avx2") != 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl");
}
#else
static int vt_runs(int width) { return width <= 2; }
#endif

#endif
