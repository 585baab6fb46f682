"""The flat arrays of a model as one C struct."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np


cdef class CoreModel:
    def __cinit__(self, flat, int[::1] iq, int[::1] iv, int nq, int nv):
        cdef int n = len(flat.kind), i, j, k
        cdef vt_body* b
        self.m.nbody, self.m.nq, self.m.nv = n, nq, nv
        self.m.body = <vt_body*>calloc(max(n, 1), sizeof(vt_body))
        self.m.damping = <double*>calloc(max(nv, 1), sizeof(double))
        if self.m.body == NULL or self.m.damping == NULL:
            raise MemoryError
        self.m.damped = bool(np.any(flat.damping))
        for i in range(nv):
            self.m.damping[i] = flat.damping[i]
        for k in range(3):
            self.m.g[k] = flat.gravity[k]
        for i in range(n):
            b = &self.m.body[i]
            b.kind, b.parent, b.iq, b.iv = flat.kind[i], flat.parent[i], iq[i], iv[i]
            for j in range(3):
                for k in range(3):
                    b.E[3 * j + k] = flat.E[i, k, j]
                b.p[j] = flat.p[i, j]
                b.com[j] = flat.com[i, j]
                b.h[j] = flat.mass[i] * flat.com[i, j]
            b.big = self.m.nbig
            if b.kind == BALL or b.kind == FREE:
                self.m.nbig += 1
            b.pitch = flat.pitch[i]
            b.mass = flat.mass[i]
            c = flat.com[i]
            about_com = flat.inertia[i]
            about_origin = about_com + b.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
            for k, (row, column) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
                b.Ic[k] = about_com[row, column]
                b.Io[k] = about_origin[row, column]

    def __dealloc__(self):
        free(self.m.body)
        free(self.m.damping)


cdef class Scratch:
    def __cinit__(self, size_t size):
        self.raw = calloc(size + 64 * 32, 1)
        if self.raw == NULL:
            raise MemoryError
        self.next = <char*>self.raw
        self.end = self.next + size + 64 * 32

    def __dealloc__(self):
        free(self.raw)

    cdef void* take(self, size_t size) except NULL:
        cdef uintptr_t at = (<uintptr_t>self.next + 63) & ~(<uintptr_t>63)
        if at + size > <uintptr_t>self.end:
            raise MemoryError("scratch memory is too small")
        self.next = <char*>(at + size)
        return <void*>at


cdef class ConstraintList:
    """Constraints for the core: tuples (kind, body_a, body_b, local, point_a, point_b, direction, value,
    iv_a, iv_b, factor_a, factor_b)."""

    def __cinit__(self, constraints=()):
        cdef int c, k
        cdef vt_constraint* e
        self.count = len(constraints)
        self.list = <vt_constraint*>calloc(max(self.count, 1), sizeof(vt_constraint))
        if self.list == NULL:
            raise MemoryError
        for c, (kind, a, b, local, point_a, point_b, direction, value, iv_a, iv_b, fa, fb) in enumerate(constraints):
            e = &self.list[c]
            e.kind, e.body_a, e.body_b, e.local, e.value = kind, a, b, local, value
            e.iv_a, e.iv_b, e.factor_a, e.factor_b = iv_a, iv_b, fa, fb
            for k in range(3):
                e.point_a[k], e.point_b[k], e.direction[k] = point_a[k], point_b[k], direction[k]

    def __dealloc__(self):
        free(self.list)
