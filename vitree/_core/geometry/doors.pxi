# Gaps of convex shapes, for Python.

def shape_gaps(ShapeList shapes, const int[:, ::1] pairs, const double[:, :, ::1] poses, double[:, ::1] out):
    """Write gaps [m], normals from b to a, and the nearest points of a and b [m] of pairs of shapes, (n, 10).

    ``poses`` (nbody, 12) are those of the core frames, in rows of three numbers: three columns of R, and the origin.
    """
    cdef Scratch scratch = Scratch(max(poses.shape[0], 1) * sizeof(Pose))
    cdef Pose* pose = <Pose*>scratch.take(max(poses.shape[0], 1) * sizeof(Pose))
    cdef Placed A, B
    cdef Near x
    cdef Py_ssize_t k
    for k in range(poses.shape[0]):
        pose[k].R.x, pose[k].R.y = vec3(poses[k, 0, 0], poses[k, 0, 1], poses[k, 0, 2]), vec3(
            poses[k, 1, 0], poses[k, 1, 1], poses[k, 1, 2])
        pose[k].R.z, pose[k].o = vec3(poses[k, 2, 0], poses[k, 2, 1], poses[k, 2, 2]), vec3(
            poses[k, 3, 0], poses[k, 3, 1], poses[k, 3, 2])
    for k in range(pairs.shape[0]):
        place_shape(&shapes.list[pairs[k, 0]], pose, &A)
        place_shape(&shapes.list[pairs[k, 1]], pose, &B)
        deepest_features(&A, &B, &x)
        out[k, 0] = x.gap
        store3(&out[k, 1], x.n)
        store3(&out[k, 4], x.a)
        store3(&out[k, 7], x.b)
        out[k, 10] = x.exact


def facet_gaps(CoreModel model, ContactList contacts, const Py_ssize_t[::1] number, const double[:, ::1] facets,
               const double[:, ::1] q, double[:, ::1] out):
    """Write gaps [m], normals, and points of a and b [m], (n, 10), of facets (n, 24) of contacts at rows of q (n, nq)."""
    cdef Scratch scratch = Scratch(model.m.nbody * sizeof(Pose))
    cdef Pose* pose = <Pose*>scratch.take(model.m.nbody * sizeof(Pose))
    cdef Facet f
    cdef Touch at
    cdef Placed A, B
    cdef const vt_pair* p
    cdef Py_ssize_t k
    require_size(q.shape[1], model.m.nq, "columns of q")
    require_size(facets.shape[1], FACET_ROW - 7, "columns of facets")
    for k in range(number.shape[0]):
        p = contacts.pair_of(number[k])
        if p == NULL:
            raise ValueError(f"contact {number[k]} is not of two convex shapes")
        forward_kinematics(&model.m, &q[k, 0], pose)
        read_facet(&facets[k, 0], &f)
        at.gap = INFINITY
        if f.kind != NO_FACET:
            place_shape(p.shape_a, pose, &A)
            place_shape(p.shape_b, pose, &B)
            touch_placed(&f, &A, &B, NULL, &at)
        out[k, 0] = at.gap
        store3(&out[k, 1], at.n)
        store3(&out[k, 4], at.a)
        store3(&out[k, 7], at.b)
