# The compiled model: plain numbers, shared by all lanes and threads, never written after creation.

cdef enum:
    REVOLUTE = 0
    PRISMATIC = 1
    HELICAL = 2
    BALL = 3
    FREE = 4

cdef struct vt_body:
    int kind
    int parent          # -1: world
    int iq              # first entry in q
    int iv              # first entry in v
    int nv              # number of coordinates
    double E[9]         # columns: axes of the core frame in the parent's at q = 0
    double p[3]         # [m] its origin there
    double pitch        # [m/rad]
    double mass         # [kg]
    double com[3]       # [m] in the core frame
    double h[3]         # [kg m] mass * com
    double Io[6]        # [kg m^2] about the core frame's origin: xx xy xz yy yz zz
    double Ic[6]        # [kg m^2] about the COM
    int multi           # number of joints of several coordinates before this one
    int inert           # has mass or inertia
    int locked          # has prescribed motion: its coordinate is not solved for
    int tree            # the floating tree to which it belongs, or -1
    int whole           # the same, also -1 if constraints tie that tree to the world or to another
    const void* own     # its numbers in lanes, where each instance has its own: see mechanism/numbers.pxi

cdef struct vt_tree:    # a tree, all bodies of which translate together (mechanism/floating.py)
    int root
    int count           # coordinates that translate it
    int free            # the body that a free joint carries, or -1
    int iv[3]
    double columns[9]   # (3, count) by sliding joints: their rates, columns^T u, translate it by u
    double directions[9]    # the projector on those in which it translates, row by row
    double mass         # [kg]
    int tied            # by constraints to the world or to another
    const void* own     # see vt_body

cdef struct vt_model:
    int nbody
    int nq
    int nv
    int nmulti          # number of joints of several coordinates
    int nlocked
    int damped          # any damping at all
    int rubbing         # any friction at all
    int rotors          # any armature at all
    double g[3]         # [m/s^2]
    vt_body* body
    int ntree
    vt_tree* tree       # (ntree,) those that float
    double* damping     # (nv,)
    double* friction    # (nv,) [N or N m], zero on ball and free joints
    double* friction_square     # (nv,) square of the velocity below which it is linear
    double* armature    # (nv,) [kg or kg m^2] inertia of rotors at the joints, zero on ball and free joints
    const void* own     # see vt_body

cdef struct vt_table:   # a function of one variable by cubic pieces, linear beyond its ends
    int count           # of pieces
    double* x           # (count + 1,) where they begin, and the last one's end
    double* c           # (count, 4): powers 0 to 3 of the distance from the piece's beginning
    double* total       # (count + 1,) the integral from the first beginning
    double period       # period, or zero

cdef struct vt_load:
    int kind
    int body_a          # -1: world
    int body_b
    int axes            # of a wrench
    int iq              # of a joint's load
    int iv
    int input           # which input multiplies it, or -1; of a ball spring the first of its reference
    int inputs[3]       # of a ball spring: the rotation vector of its reference
    double point_a[3]   # [m] in the bodies' core frames
    double point_b[3]
    double wrench[6]    # torque [N m], force [N]; of a ball spring its reference, a quaternion
    double factor       # force, stiffness, damping, or constant times both masses
    double rest         # length or angle without force; of a ball spring its largest torque [N m]
    vt_table table

cdef struct vt_drive:   # a servo on a joint of one coordinate
    int iq
    int iv
    int target          # the input that is the target, or -1
    int rate            # the input that is the target's rate, or -1
    double kp
    double kd
    double goal         # the target, without an input
    double goal_rate
    double effort       # [N or N m] the largest force
    double speed        # [m/s or rad/s] at which the motor has no effort left
    const void* own     # see vt_body

cdef struct vt_field:       # a surface z = H(x, y): uniform cubic B-splines
    int nx              # heights along x and y; there are two coefficients more
    int ny
    double origin[3]    # [m]
    double spacing[2]   # [m]
    const double* c     # (nx + 2, ny + 2) [m]

cdef enum:
    SOLID = 0           # the convex hull of vertices and circles about one axis
    ELLIPSOID = 1
    HALF_SPACE = 2

cdef struct vt_shape:   # convex; in the core frame of its body
    int kind
    int body            # -1: the world
    int count
    const double* x     # (count, 3) [m] vertices
    const double* rows  # (3, stride) the same, by coordinates; those behind the last are the first one
    int stride          # a multiple of four
    int rims            # circles: none, one of a disk or a cone, two of a cylinder
    double center[6]    # [m] theirs; along the axis
    double axis[3]      # unit; of a cone from its base to its apex
    double rim          # [m] their radius
    double slope        # of a cone: the sine of the angle of its side to the axis
    double axes[9]      # of an ellipsoid, row by row
    double half[3]      # [m] its semi-axes
    double radius       # [m] of a ball about all points
    int faces
    const double* face  # (faces, 4) unit normals, outward, and their products with points on the faces [m]
    int edges
    const int* edge     # (edges, 2) vertices
    double middle[3]    # [m] of a ball about the shape
    double reach        # [m] its radius

cdef struct vt_eyelet:      # a point of a rope, or what it wraps around
    int body                # -1: the world
    double point[3]         # [m] in the body's core frame: the point, or the middle of a pulley
    double radius           # [m] of a pulley; 0: a point
    double axis[3]          # unit, in the body's core frame; zero of a sphere
    double side[3]          # [m] in the body's core frame: the point on whose side the rope passes
    int way                 # which way it wraps: 1, -1: its sense about the axis; else a way of these

cdef enum:
    SECANTS = 4             # of losses of couplings

cdef enum:                  # ways around a pulley
    SHORTER_WAY = 0
    BY_POINT = 2              # on the side of a point

cdef struct vt_contact:     # two bodies, or a body and the world, that may make contact or roll; a limit of a joint, or
                            # its dry friction; a rope
    int kind
    int body_a          # -1: world
    int body_b
    int dim             # rows of its impulse: 1 without friction, 3, or more with friction of turning
    int patch           # equal for points of one body on one plane, else -1
    int iq              # of a joint's limit
    int iv
    double sign         # 1: a lower limit, -1: an upper one
    double bound        # [m or rad], [m/s or rad/s] of a limit of velocity
    double point_a[3]   # [m] in the bodies' core frames: a point, a centre, the first end of a segment
    double point_b[3]
    double end_a[3]     # the other end
    double end_b[3]
    double axes_b[9]    # columns: axes of a box, in body b's core frame
    double half_b[3]    # [m] its half lengths
    double radius_a     # [m]
    double radius_b
    double axis_a[3]    # unit, of a disk that rolls, in body a's core frame; zero of a ball. Of swing and twist
    int holds[3]        # whether rolling is constrained: the normal, along, across
    double normal[3]    # of a plane in the world, unit
    double offset       # [m] the plane is normal . x = offset
    double friction     # of a coordinate [N or N m]
    int mesh            # of the loss of a coupling: its number; else -1
    double factor       # of the coordinate in it
    double efficiency   # of power from there
    double returns      # and to there
    double assumed      # what the coupling transmits there in a step: as assumed for its last pass, and as found by it
    double found
    double before       # the same of the pass before it, and how much more was found
    double rest
    double dx[4]        # differences of what was assumed and of how much more was found over passes
    double dr[4]
    int passes          # of this step
    double spin         # [m] torsional and rolling friction over the sliding one; zero without
    double roll
    double restitution
    double stiffness    # [N/m] infinite for a rigid contact
    double damping      # [N s/m]
    double softness     # [m] of gaps about zero within which its force sets in
    const vt_field* field   # of a ground that is not a plane
    const vt_shape* shape_a # of a pair of convex shapes
    const vt_shape* shape_b
    int slot            # of its facet, and the seat of its pair
    int seat
    const vt_eyelet* eyelet # (eyelets,) of a rope
    int eyelets

cdef enum:
    MOST_FACETS = 8         # contacts of two convex shapes, at a step's start

cdef struct vt_pair:        # two convex shapes that may touch; the first moves
    const vt_shape* shape_a
    const vt_shape* shape_b
    int dim                 # and the surface of their contacts
    double friction
    double spin
    double roll
    double restitution
    double stiffness
    double damping
    double softness

cdef struct vt_constraint:  # one scalar equation h(q) = 0
    int kind
    int body_a          # -1: world
    int body_b
    int local           # the direction rotates with body a, else it is fixed in the world
    double point_a[3]   # [m] in the bodies' core frames
    double point_b[3]
    double direction[3] # unit, in body a's core frame or the world's axes
    double other[3]     # unit, in body b's core frame
    double value        # offset [m], distance [m], or the sum of a coupling
    int iq_a            # coordinates of a coupling; iv_b < 0: none
    int iv_a
    int iq_b
    int iv_b
    double factor_a
    double factor_b
    vt_table table

# Kinds of loads and constraints.

cdef enum:
    WRENCH = 0          # constants and inputs on a body
    UNIFORM = 1         # a constant force of the world with a potential, on a body
    SPRING = 2          # between two points, along their line
    DAMPER = 3          # the same by the rate of their distance
    ATTRACTION = 4      # the same as the inverse square of it
    JOINT_FORCE = 5
    JOINT_SPRING = 6
    JOINT_TABLE = 7
    BALL_SPRING = 8     # of a ball joint, by the rotation vector from a reference

cdef enum:              # axes of a wrench
    HYBRID = 0          # the world's, about the point
    BODY = 1            # the body's, about the point
    SPATIAL = 2         # the world's, about its origin

cdef enum:
    POINTS = 0          # direction . (a - b) = value
    DISTANCE = 1        # |a - b| = value + factor_a q_a
    COUPLING = 2        # factor_a q_a + factor_b q_b = value
    AXES = 3            # direction of a . other of b = value
    PROFILE = 4         # q_a = table(q_b)
    USER = 5            # written in Python

cdef enum:
    ON_PLANE = 0        # a point or a sphere on a plane of the world
    SEGMENTS = 1        # a sphere and another one or a capsule: points within a radius of a segment
    ON_BOX = 2          # a sphere on a box
    AT_LIMIT = 3        # a coordinate at its limit
    ON_FIELD = 4        # a point or a sphere on a surface of the world
    ROLLS = 5           # a disk or a ball that rolls without slip on a plane of the world
    RUBS = 6            # dry friction of a coordinate
    ON_FACET = 7        # one of several places where two convex shapes touch
    AT_LENGTH = 8            # a path through points that is no longer than the bound
    AT_SWING = 9           # the angle between an axis and itself, turned by a ball joint, up to the bound
    AT_TWIST = 10          # the rotation about that axis at its limit
    AT_SPEED = 11          # the velocity of a coordinate at its limit
    AT_ANGLE = 12          # the angle of a ball joint's rotation, up to the bound

# How constraints are solved (mechanism/plans.py): islands, fronts and trains of gears.

cdef enum:              # kinds of events
    OPEN_BODY = 0       # `slot` receives the body's matrix
    OPEN_GUEST = 1      # `slot` is empty: for the parent body of the region
    OPEN_ROW = 2
    ELIMINATE = 3       # the joint of the body in `slot`; rows: that act on it
    SHIFT = 4           # the body in `slot` moves with its parent, in slot `to`; to < 0: with the world
    TRY = 5             # close those whose pivots are safe
    CLOSE = 6           # close the rows
    STORE = 7           # `slot` is added to the body's matrix

cdef struct FrontEvent:
    int kind
    int body
    int slot
    int to
    int pivot           # of an elimination: the number of its first coordinate
    int pair            # from here to the end: the bodies in the front, (slot, body)
    int pair_end
    int row             # from here to the end: constraints, by their numbers in the island
    int row_end


cdef struct FrontPlan:
    FrontEvent* event
    int count
    int* pair           # (2 *,)
    int* row
    int* ready          # (rows,) the event from which on a constraint acts on no joint that is not eliminated
    int rows            # of the island
    int slots           # bodies in the front at a time
    int places          # constraints in the front
    int pivots          # coordinates; the pivots of constraints follow


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


cdef struct TrainShare:     # of a joint on the path from a train's joints to where the train closes
    int train               # by the order in which they close
    int to                  # the place of its K at the parent
    double factor           # the joint's rate over s, or 0: the joint is not part of the train


cdef struct TrainGear:      # a gear whose force is the missing force of a joint, and its effect on the other joint
    int gear
    int iv
    int other
    double share            # over the factor of the joint
    double factor


cdef struct GearTrainPlan:
    int count
    int shares
    int* close              # (nbody + 2,) the first train that closes at a body, and at the world; last bodies first
    int* first              # (nbody + 1,) the first share of a body
    int* own                # (nbody,) the share of the body's own train, or -1
    TrainShare* share       # (shares,) body after body
    int* stop               # (stops,) bodies that have shares or closing trains, leaves first
    int stops
    TrainGear* gear         # (gears,) joints that have one gear left, one after the other
    int gears


cdef class ConstraintPlan:
    cdef Islands islands
    cdef GearTrainPlan trains
    cdef readonly bint linear   # all constraints are gears
    cdef readonly bint plain    # the same, and no island has a plan
    cdef bint geared            # the same, and accelerations eliminate them by `trains`
    cdef int* own               # (rows,) a coordinate that only one gear has, or NULL
    cdef int bodies
    cdef int rows
    cdef list memory
    cdef FrontPlan* take_front(self, front) except NULL
    cdef int take_trains(self, trains) except -1

cdef class CoreModel:
    cdef vt_model m
    cdef void take_tree(self, vt_tree* to, tree)

cdef class LoadList:
    cdef vt_load* list
    cdef readonly int count
    cdef readonly int pairs     # springs and the like between two frames
    cdef readonly int rates     # loads that depend on velocities
    cdef readonly int inputs    # loads that take inputs
    cdef list memory

cdef class DriveList:
    cdef vt_drive* list
    cdef readonly int count

cdef struct TouchBall:  # about shapes of a body
    int body
    double center[3]        # [m] in its core frame
    double radius           # [m]

cdef struct TouchSpan:  # consecutive contacts that are as far away as the balls about what touches, or farther
    int first           # in the list; those of a pair of convex shapes exist where it is near
    int end
    int pair            # or -1
    int ball                # the balls, of which the second is negative on a plane; negative: none is skipped
    int other
    double radius           # [m] of both

cdef class ShapeList:
    cdef vt_shape* list
    cdef readonly int count
    cdef list memory

cdef class ContactList:
    cdef vt_contact* list
    cdef TouchSpan* span        # (spans,) or NULL
    cdef int spans
    cdef TouchBall* ball        # (balls,)
    cdef int balls
    cdef readonly int ports     # rows of the ports if all contacts close
    cdef list memory
    cdef vt_field field
    cdef object field_owner
    cdef ShapeList shapes
    cdef vt_pair* pair          # (pairs,)
    cdef readonly int pairs
    cdef readonly int plain     # contacts in the list
    cdef int facets             # of them, those before the pairs: by numbers, the contacts of these follow
    cdef readonly int count     # all contacts, by numbers
    cdef readonly int patches   # without those of pairs
    cdef readonly bint turns    # some have friction of turning,
    cdef readonly bint elastic  # bounce,
    cdef readonly bint rolls    # or roll
    cdef bint yields           # some have springs
    cdef list strung            # the points of ropes
    cdef int take_eyelets(self, vt_contact* e, points) except -1
    cdef int take_spans(self, spans) except -1
    cdef int take_pairs(self, facing, surfaces, int at) except -1
    cdef const vt_pair* pair_of(self, Py_ssize_t number) noexcept nogil

cdef class ConstraintList:
    cdef vt_constraint* list
    cdef readonly int count
    cdef readonly ConstraintPlan apart  # island by island, and as one; None: no stepper can take the constraints
    cdef readonly ConstraintPlan whole
    cdef list memory

cdef class Scratch:
    # memory for a kernel's intermediate results, each piece starting on a cache line
    cdef void* raw
    cdef char* next
    cdef char* end
    cdef void* take(self, size_t size) except NULL
