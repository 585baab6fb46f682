# The memory of a stepper of a vehicle: the parts that it shares with models.

cdef struct Shared:
    Schedule schedule


cdef struct Lane:
    Clock* clock
    Now* now
    State state
    Drive drive
