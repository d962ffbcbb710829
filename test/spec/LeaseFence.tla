----------------------------- MODULE LeaseFence -----------------------------
(***************************************************************************)
(* Coordinators elect a leader by one Lease, and the leader sends writes.  *)
(* Each has a clock of its own, may be suspended, loses answers, and hears *)
(* of the Lease late. The API server executes requests late.               *)
(* Times are ticks. Every action but Tick takes no time.                   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Coordinators,
  R,        \* renew deadline, ticks of the leader's clock since it began its last good renewal
  L,        \* lease duration, ticks of a standby's clock since it saw the Lease change
  T,        \* ticks that a write may take at most
  D,        \* ticks that pass at most between a client and the API server
  Drift,    \* ticks by which a clock may be wrong while one of these durations passes
  WritesMax,\* how many writes TLC looks at in flight at once; nothing in the protocol depends on it
  \* Mechanisms. FALSE switches one off.
  Fenced,   \* a write begins only, and is given no more time than, until the deadline
  Timeouts, \* a write carries `?timeout=`
  Parts,    \* clocks that disagree about the time since the renewal end the term
  Waits,    \* a standby waits for the lease duration
  Compares, \* a record replaces the very version that was seen
  Settles,  \* the Lease is freed after the writes in flight have ended
  SettlesOwn, \* the holder begins another term of its own after its writes of the last one have ended
  FromBegin \* a renewal counts from when it was begun, not from when it was answered

VARIABLES
  holder,   \* who the record names; "none" if it was released
  fresh,    \* the coordinator has seen the latest version of the record
  wait,     \* ticks of its clock since it saw the record change
  leads,    \* it is in a term
  since,    \* ticks of its clock since it began its last good renewal
  slip,     \* how wrong its clock became meanwhile
  asleep,   \* its machine is suspended
  parted,   \* its clocks disagree about the time since the renewal
  req,      \* its request to replace the record
  late,     \* requests to replace the record that their sender has given up
  writes,   \* writes in flight
  newest,   \* whose term was the last one to begin to write
  began,    \* it has written in its term
  bad       \* a write took effect after a newer term had begun to write

vars == <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late, writes, newest, began, bad>>

None == [phase |-> "none"]

Init ==
  /\ holder = "none"
  /\ fresh = [c \in Coordinators |-> TRUE]
  /\ wait = [c \in Coordinators |-> 0]
  /\ leads = [c \in Coordinators |-> FALSE]
  /\ since = [c \in Coordinators |-> R]
  /\ slip = [c \in Coordinators |-> 0]
  /\ asleep = [c \in Coordinators |-> FALSE]
  /\ parted = [c \in Coordinators |-> FALSE]
  /\ req = [c \in Coordinators |-> None]
  /\ late = {}
  /\ writes = {}
  /\ newest = "none"
  /\ began = [c \in Coordinators |-> FALSE]
  /\ bad = FALSE

Covered(c) == since[c] < R /\ (Parts => ~parted[c])
MayWrite(c) == leads[c] /\ ~asleep[c] /\ (Fenced => Covered(c))
Remaining(c) == IF Fenced THEN (IF R - since[c] < T THEN R - since[c] ELSE T) ELSE T
OwnWrites(c) == {w \in writes : w.by = c}

-----------------------------------------------------------------------------
(* coordinator/src/term/lease.ts *)

Ask(c, kind) ==
  req' = [req EXCEPT ![c] = [phase |-> "sent", kind |-> kind, same |-> fresh[c], at |-> 0, slip |-> 0, parted |-> FALSE]]

Renew(c) ==
  /\ leads[c] /\ ~asleep[c] /\ Covered(c) /\ fresh[c] /\ req[c] = None
  /\ since[c] > 0
  /\ Ask(c, "renew")
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, late, writes, newest, began, bad>>

Take(c) ==
  /\ ~leads[c] /\ ~asleep[c] /\ fresh[c] /\ req[c] = None
  /\ \/ holder = "none"
     \/ holder = c /\ (SettlesOwn => OwnWrites(c) = {})
     \/ holder \in Coordinators \ {c} /\ (Waits => wait[c] >= L)
  /\ Ask(c, "take")
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, late, writes, newest, began, bad>>

(* The record names c now, in a version that no other has seen. *)
Replaced(c) ==
  /\ holder' = c
  /\ fresh' = [d \in Coordinators |-> FALSE]

Stale(requests) == {[r EXCEPT !.same = FALSE] : r \in requests}

Replace(c) ==
  /\ req[c].phase = "sent"
  /\ IF req[c].same \/ ~Compares
     THEN /\ Replaced(c)
          /\ req' = [d \in Coordinators |->
               IF d = c THEN [req[d] EXCEPT !.phase = "won", !.same = TRUE]
               ELSE IF req[d] = None THEN None ELSE [req[d] EXCEPT !.same = FALSE]]
          /\ late' = Stale(late)
     ELSE /\ req' = [req EXCEPT ![c].phase = "lost"]
          /\ UNCHANGED <<holder, fresh, late>>
  /\ UNCHANGED <<wait, leads, since, slip, asleep, parted, writes, newest, began, bad>>

ReplaceLate ==
  \E r \in late :
    /\ IF r.same \/ ~Compares
       THEN /\ Replaced(r.by)
            /\ req' = [d \in Coordinators |-> IF req[d] = None THEN None ELSE [req[d] EXCEPT !.same = FALSE]]
            /\ late' = Stale(late \ {r})
       ELSE late' = late \ {r} /\ UNCHANGED <<holder, fresh, req>>
    /\ UNCHANGED <<wait, leads, since, slip, asleep, parted, writes, newest, began, bad>>

Counted(c) == IF FromBegin THEN req[c].at ELSE 0

Answer(c) ==
  /\ ~asleep[c]
  /\ req[c].phase \in {"won", "lost"}
  /\ req' = [req EXCEPT ![c] = None]
  /\ IF req[c].phase = "lost" \/ ~req[c].same
     THEN UNCHANGED <<fresh, wait, leads, since, slip, parted, began>>
     ELSE LET isFit == Counted(c) < R /\ (Parts => ~req[c].parted)
              goesOn == req[c].kind = "renew" /\ leads[c] /\ Covered(c)
              begins == req[c].kind = "take" /\ isFit
          IN
          /\ fresh' = [fresh EXCEPT ![c] = TRUE]
          /\ wait' = [wait EXCEPT ![c] = 0]
          /\ slip' = [slip EXCEPT ![c] = IF goesOn \/ begins THEN req[c].slip ELSE 0]
          /\ leads' = [leads EXCEPT ![c] = goesOn \/ begins]
          /\ began' = [began EXCEPT ![c] = @ /\ goesOn]
          /\ since' = [since EXCEPT ![c] = IF goesOn \/ begins THEN Counted(c) ELSE R]
          /\ parted' = [parted EXCEPT ![c] = (goesOn \/ begins) /\ req[c].parted]
  /\ UNCHANGED <<holder, asleep, late, writes, newest, bad>>

GiveUp(c) ==
  /\ req[c] # None
  /\ late' = IF req[c].phase = "sent" THEN late \cup {[by |-> c, same |-> req[c].same]} ELSE late
  /\ req' = [req EXCEPT ![c] = None]
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, writes, newest, began, bad>>

(* By the watch, or since it asked. *)
See(c) ==
  /\ ~asleep[c] /\ ~fresh[c] /\ req[c] = None
  /\ fresh' = [fresh EXCEPT ![c] = TRUE]
  /\ wait' = [wait EXCEPT ![c] = 0]
  /\ slip' = [slip EXCEPT ![c] = IF leads[c] /\ holder = c THEN @ ELSE 0]
  /\ leads' = [leads EXCEPT ![c] = @ /\ holder = c]
  /\ began' = [began EXCEPT ![c] = @ /\ holder = c]
  /\ since' = [since EXCEPT ![c] = IF holder = c THEN @ ELSE R]
  /\ parted' = [parted EXCEPT ![c] = @ /\ holder = c]
  /\ UNCHANGED <<holder, asleep, req, late, writes, newest, bad>>

Ended(c) ==
  /\ leads' = [leads EXCEPT ![c] = FALSE]
  /\ began' = [began EXCEPT ![c] = FALSE]
  /\ since' = [since EXCEPT ![c] = R]
  /\ slip' = [slip EXCEPT ![c] = 0]
  /\ parted' = [parted EXCEPT ![c] = FALSE]

(* The time is up, or the clocks have parted. *)
End(c) ==
  /\ leads[c] /\ ~asleep[c] /\ ~Covered(c)
  /\ Ended(c)
  /\ UNCHANGED <<holder, fresh, wait, asleep, req, late, writes, newest, bad>>

(* A clean stop. Another process takes its place. *)
Release(c) ==
  /\ leads[c] /\ ~asleep[c] /\ Covered(c) /\ fresh[c] /\ holder = c /\ req[c] = None
  /\ Settles => OwnWrites(c) = {}
  /\ holder' = "none"
  /\ fresh' = [d \in Coordinators |-> FALSE]
  /\ Ended(c)
  /\ req' = [d \in Coordinators |-> IF req[d] = None THEN None ELSE [req[d] EXCEPT !.same = FALSE]]
  /\ late' = Stale(late)
  /\ UNCHANGED <<wait, asleep, writes, newest, bad>>

-----------------------------------------------------------------------------
(* coordinator/src/write/write-gate.ts, and the API server *)

(* Begins a write. It takes effect at once, or stays in flight. *)
Write(c) ==
  /\ MayWrite(c)
  /\ LET isFirst == ~began[c]
         isOld == ~isFirst /\ newest # c
         rest == {[w EXCEPT !.old = @ \/ isFirst] : w \in writes}
     IN
     /\ newest' = IF isFirst THEN c ELSE newest
     /\ began' = [began EXCEPT ![c] = TRUE]
     /\ \/ writes' = rest /\ bad' = (bad \/ isOld)
        \/ /\ Cardinality(writes) < WritesMax
           /\ writes' = rest \cup {[by |-> c, srv |-> Remaining(c) + D, old |-> isOld]}
           /\ bad' = bad
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late>>

(* Takes effect, with or without an answer. *)
Execute ==
  \E w \in writes :
    /\ writes' = writes \ {w}
    /\ bad' = (bad \/ w.old)
    /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late, newest, began>>

-----------------------------------------------------------------------------
Suspend(c) ==
  /\ asleep' = [asleep EXCEPT ![c] = ~@]
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, parted, req, late, writes, newest, began, bad>>

Least(a, b) == IF a < b THEN a ELSE b

(* A standby counts how long the record of another has not changed. *)
Counts(c) == ~leads[c] /\ fresh[c] /\ holder \in Coordinators \ {c}
Measures(c) == leads[c] \/ Counts(c) \/ req[c] # None

(* One tick. A clock that is wrong stands still where it limits a term, and is twice as fast where it ends a wait. *)
Tick ==
  \E wrong \in SUBSET {c \in Coordinators : slip[c] < Drift /\ ~asleep[c] /\ Measures(c)} :
    LET slow(c) == IF asleep[c] \/ c \in wrong THEN 0 ELSE 1
        fast(c) == IF asleep[c] THEN 0 ELSE IF c \in wrong THEN 2 ELSE 1
        slips(c) == IF c \in wrong THEN 1 ELSE 0
    IN
    /\ since' = [c \in Coordinators |-> IF leads[c] THEN Least(R, since[c] + slow(c)) ELSE R]
    /\ wait' = [c \in Coordinators |-> IF Counts(c) THEN Least(L, wait[c] + fast(c)) ELSE 0]
    /\ slip' = [c \in Coordinators |-> IF Measures(c) THEN slip[c] + slips(c) ELSE 0]
    /\ parted' = [c \in Coordinators |-> leads[c] /\ (parted[c] \/ asleep[c])]
    /\ req' = [c \in Coordinators |->
         IF req[c] = None THEN None
         ELSE [req[c] EXCEPT !.at = Least(R, @ + slow(c)), !.slip = Least(Drift, @ + slips(c)),
                             !.parted = @ \/ asleep[c]]]
    /\ writes' = IF Timeouts
                 THEN {[w EXCEPT !.srv = @ - 1] : w \in {v \in writes : v.srv > 0}}
                 ELSE writes
    /\ UNCHANGED <<holder, fresh, leads, asleep, late, newest, began, bad>>

Next ==
  \/ \E c \in Coordinators :
       \/ Renew(c) \/ Take(c) \/ Replace(c) \/ Answer(c) \/ GiveUp(c) \/ See(c) \/ End(c) \/ Release(c)
       \/ Write(c) \/ Suspend(c)
  \/ ReplaceLate
  \/ Execute
  \/ Tick

Spec == Init /\ [][Next]_vars

Symmetry == Permutations(Coordinators)

-----------------------------------------------------------------------------
NoOldWrite == ~bad
OneWriter == Cardinality({c \in Coordinators : MayWrite(c)}) <= 1
=============================================================================
