# What islands of constraints that have a plan, and gear trains, are solved in: see fronts.pxi and gears.pxi.

cdef enum:
    MOST_PAIRS = 3          # of wrenches (n, f), or of displacements (w, v), that belong to a body


cdef struct FrontBody:      # world axes, about the body's origin
    double* A               # (block, block) its wrenches by its displacements, with those of all that hangs on it
    double* row             # (nv of the joint, block)
    double* col             # (nv, block)
    double* own_row         # (nv, block) what is added to row A and to A col, or NULL
    double* own_col
    double* D               # (nv, nv)
    Vec3 t_row[MOST_PAIRS]  # from the parent's origin
    Vec3 t_col[MOST_PAIRS]
    Mat3 R_row[MOST_PAIRS]  # its axes, where factors turn with them
    Mat3 R_col[MOST_PAIRS]


cdef struct FrontSize:
    int block               # numbers that belong to a body
    int end                 # behind those of the bodies that are open: constraints
    int width               # all that is open
    bint turns              # factors are kept in the bodies' axes
    double sense            # a factor that makes the pivots of joints positive where nothing moves


cdef struct FrontFactors:   # kept: steps to come may use them again
    double* u               # (pivots + rows, width)
    double* l
    double* inverse         # (pivots + rows, 6) a joint's rows and columns
    int* closed             # (rows,) the event that closed a constraint
    int* partner            # (rows,) the constraint whose equation was taken for it


cdef struct FrontWork:
    FrontSize z
    double* M               # (width, width)
    double* size            # (width,) the sum of the terms of a constraint's own entry
    double* scale           # (width,) its largest wrench
    double* F               # (width,) right side of all that is open, then the solution
    double* rate            # (pivots + rows,) right side of a pivot, over it
    double* u               # (6, width) in world axes
    double* l
    double* hung            # (nbody, block) right sides of what hangs on a body
    double* x               # (nbody, block) displacements
    int* at                 # (rows,) the place of a constraint, or -1
    int* held               # (width,) the constraint in a place, or -1
    int* run                # (2 slots + 2,) first and end of the runs of what is open
    int runs
    int* line               # (rows,) constraints in the order in which they closed, and the places that they had
    int* left
    int used                # behind the last place in use


cdef struct Fronts:             # of the islands that have a plan
    FrontBody* rest_body        # (nbody,) for M and Dh
    FrontWork* rest_work        # (islands,)
    FrontFactors* rest          # (islands,)
    int planned                 # islands that steps solve by their plans
    int block                   # of steps
    FrontBody* body             # (nbody,) for a step
    FrontWork* work             # (islands,)
    FrontFactors* factors       # (islands,) of each substep
    Pose* pose1                 # (nbody,) at nodes 1 and 2
    Pose* pose2
    double* rows                # (stages, nv, block) what bodies' `row` and `col` are
    double* columns
    double* none                # (nv,) zeros


cdef struct GearTrainWork:      # scratch. Places: one for each share, then one for each train where it closes
    Vec3* Kn                # (shares + count,)
    Vec3* Kf
    double* along           # (shares,) S^T K of the joint
    double* rest            # (count,)
    double* D               # (count, count), above the diagonal
    double* rate            # (count,) s
    double* lack            # (nv,) of the joints of trains
