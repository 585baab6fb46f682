# Islands: sets of bodies that constraints tie together, apart from all others. Each island's multipliers are solved for
# by themselves, in the range of bodies and of coordinates that the island spans: loops side by side cost what one costs,
# times their number. Rows of Dh and responses are written and read within that range only.

cdef struct Island:
    int body            # the bodies from the first to behind the last
    int body_end
    int v               # their coordinates
    int v_end
    int row             # its part of `member`
    int row_end
    int block           # where its matrix starts among those of all islands
    FrontPlan* plan     # how it is eliminated in the order of its joints, or NULL: by its dense matrix


cdef struct Islands:
    int count
    Island* at
    int* member         # (rows,) the rows, island by island
    int* of             # (rows,) the island of a row
    int* apart          # (rows,) whether it has a plan
    int* range          # (2 range_count,) the bodies that are in no island with a plan: from the first to behind the last
    int range_count


cdef int islands_make(Islands* x, Memory memory, const vt_model* m, const vt_constraint* list, int count,
                      bint whole) except -1:
    # count: constraints, in `list`; whole: one island of all
    cdef int i, k, row, block = 0
    cdef Island* on
    root = []
    for i in range(m.nbody):
        root.append(root[m.body[i].parent] if m.body[i].parent >= 0 else i)
    body_of = {m.body[i].iv + k: i for i in range(m.nbody) for k in range(joint_nv(&m.body[i]))}
    joined = list_of_one_island(count) if whole else separate_islands(
        [[root[i] for i in bodies_of(&list[k], body_of)] if list[k].kind != USER else None for k in range(count)])
    x.count = len(joined)
    x.at = <Island*>memory.given(x.count * sizeof(Island))
    x.member, x.of = <int*>memory.given(count * sizeof(int)), <int*>memory.given(count * sizeof(int))
    x.apart = <int*>memory.given(count * sizeof(int))
    row = 0
    for k, (roots, members) in enumerate(joined):
        on = &x.at[k]
        on.body, on.body_end = span_of(root, set(root) if roots is None else roots)
        on.v = min([m.body[i].iv for i in range(on.body, on.body_end)], default=0)
        on.v_end = max([m.body[i].iv + joint_nv(&m.body[i]) for i in range(on.body, on.body_end)], default=0)
        on.row, on.row_end, on.block = row, row + len(members), block
        block += len(members) ** 2
        for i in members:
            x.member[row], x.of[i] = i, k
            row += 1
        order = None if whole else front_order(m, list, members, body_of, on.body, on.body_end)
        if order is not None:
            on.plan = <FrontPlan*>memory.given(sizeof(FrontPlan))
            front_plan_make(on.plan, memory, order)
            for i in members:
                x.apart[i] = True
    ranges_make(x, memory, m.nbody)
    return 0


cdef int ranges_make(Islands* x, Memory memory, int nbody) except -1:
    cdef int k, body = 0
    x.range, x.range_count = <int*>memory.given(2 * (x.count + 1) * sizeof(int)), 0
    for start, end in sorted([(x.at[k].body, x.at[k].body_end) for k in range(x.count) if x.at[k].plan != NULL]
                             + [(nbody, nbody)]):
        if start > body:
            x.range[2 * x.range_count], x.range[2 * x.range_count + 1] = body, start
            x.range_count += 1
        body = end
    return 0


cdef list bodies_of(const vt_constraint* e, dict body_of):
    # those that a constraint moves
    named = [e.body_a, e.body_b, body_of.get(e.iv_a, -1), body_of.get(e.iv_b, -1)]
    return [i for i in named if i >= 0]


def span_of(root, roots):
    """The first body and the one behind the last of whole trees, with those that lie between them."""
    while roots:
        bodies = [i for i, own in enumerate(root) if own in roots]
        first, end = min(bodies), max(bodies) + 1
        wider = set(root[first:end])
        if wider == roots:
            return first, end
        roots = wider
    return 0, 0


def list_of_one_island(rows):
    """One island of all bodies and rows, if there are rows."""
    return [(None, range(rows))] if rows else []


def separate_islands(roots_of):
    """Islands (roots, rows) of rows that tie some roots each; a row with None ties all of them."""
    if any(roots is None for roots in roots_of):
        return list_of_one_island(len(roots_of))
    islands = []
    for row, roots in enumerate(roots_of):
        touched = [island for island in islands if not island[0].isdisjoint(roots)]
        islands = [island for island in islands if island[0].isdisjoint(roots)]
        islands.append((set(roots).union(*(island[0] for island in touched)),
                        sorted([row, *(k for island in touched for k in island[1])])))
    return sorted(islands, key=lambda island: island[1])
