# Trees that float (mechanism/floating.py): they translate as a whole, along the directions that joints at their roots have.

cdef inline Vec3 tree_column(const vt_tree* tree, int j) noexcept nogil:
    # the translation u has the part column.u in the rate of the j-th sliding joint
    cdef const double* c = tree.columns + j
    return vec3(vt_set1(c[0]), vt_set1(c[tree.count]), vt_set1(c[2 * tree.count]))


cdef inline Vec3 along_tree(const vt_tree* tree, Vec3 a) noexcept nogil:
    # the part of a vector along these directions
    cdef const double* D = tree.directions
    return vec3(D[0] * a.x + D[1] * a.y + D[2] * a.z, D[3] * a.x + D[4] * a.y + D[5] * a.z,
                D[6] * a.x + D[7] * a.y + D[8] * a.z)
