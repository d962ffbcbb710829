----------------------------- MODULE LeaseTrace -----------------------------
(***************************************************************************)
(* Whether recorded traces of the code are behaviors of LeaseFence. Each   *)
(* event of a trace is a step of the specification, but for those that the *)
(* specification does not know: they are stuttering, or say what has to be *)
(* so. When a replica sees the Lease is not recorded, and left to TLC.     *)
(* Clocks are as wrong as they may be as soon as they may: every guard of  *)
(* a step that helps the code is the weaker for it.                        *)
(***************************************************************************)
EXTENDS LeaseFence, Sequences, Traces

VARIABLES
  trace, \* which of the traces
  at,    \* the event that comes next
  open   \* writes of each coordinator that have neither an answer nor been given up

tvars == <<vars, trace, at, open>>

Event == Traces[trace][at]
Kind == Event[1]
By == Event[2]

TraceInit ==
  /\ Init
  /\ trace \in 1..Len(Traces)
  /\ at = 1
  /\ open = [c \in Coordinators |-> 0]

Clocks == {c \in Coordinators : slip[c] < Drift /\ ~asleep[c] /\ Measures(c)}

TimePasses ==
  /\ Kind = "tick"
  /\ Tick
  /\ \A c \in Clocks : slip'[c] = slip[c] + 1
  /\ UNCHANGED open

(* Its machine is suspended or goes on; or its process has not begun, or has ended. *)
Rests == Kind = "rest" /\ Suspend(By) /\ UNCHANGED open

(* It asks for the Lease, in a term or for one. *)
Asks == Kind = "ask" /\ (IF Event[3] = "renew" THEN Renew(By) ELSE Take(By)) /\ UNCHANGED open

(* The same by a version that is not the latest: the specification leaves out what cannot win. *)
AsksInVain ==
  /\ Kind = "ask"
  /\ ~fresh[By] /\ ~asleep[By] /\ req[By] = None
  /\ Ask(By, Event[3])
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, late, writes, newest, began, bad, open>>

(* The API server carries it out. *)
IsCarriedOut ==
  /\ Kind = "put"
  /\ Replace(By)
  /\ req'[By].phase = Event[3]
  /\ UNCHANGED open

(* The same for one that its sender has given up. *)
IsCarriedOutLate ==
  /\ Kind = "late"
  /\ IF Event[3] = "won"
     THEN ReplaceLate /\ holder' = By /\ \E r \in late : r.by = By /\ r.same
     ELSE UNCHANGED vars
  /\ UNCHANGED open

IsAnswered == Kind = "answer" /\ Answer(By) /\ UNCHANGED open
IsGivenUp == Kind = "give up" /\ GiveUp(By) /\ UNCHANGED open

(* As Release, after its writes; also of a Lease that names it although its term is over. *)
Frees ==
  /\ Kind = "free"
  /\ open[By] = 0 /\ holder = By
  /\ holder' = "none"
  /\ fresh' = [c \in Coordinators |-> FALSE]
  /\ Ended(By)
  /\ req' = [c \in Coordinators |-> IF req[c] = None THEN None ELSE [req[c] EXCEPT !.same = FALSE]]
  /\ late' = Stale(late)
  /\ UNCHANGED <<wait, asleep, writes, newest, bad, open>>

(* A leader says that it leads: it has to be so. *)
Leads == Kind = "lead" /\ MayWrite(By) /\ UNCHANGED <<vars, open>>

(* A leader says that it leads no more, which it may say before its time is up. *)
Stops ==
  /\ Kind = "stop"
  /\ IF leads[By] THEN Ended(By) ELSE UNCHANGED <<leads, began, since, slip, parted>>
  /\ UNCHANGED <<holder, fresh, wait, asleep, req, late, writes, newest, bad, open>>

(* As Write, where the write stays in flight; requests have names. The API server is told no more time than is left. *)
Writes ==
  /\ Kind = "write"
  /\ MayWrite(By)
  /\ Event[4] <= Remaining(By) + 1
  /\ LET isFirst == ~began[By]
         isOld == ~isFirst /\ newest # By
     IN
     \* The code waits for the writes of its last term once it has the Lease, the specification before it asks.
     /\ isFirst => open[By] = 0
     /\ newest' = IF isFirst THEN By ELSE newest
     /\ began' = [began EXCEPT ![By] = TRUE]
     /\ writes' = {[w EXCEPT !.old = @ \/ isFirst] : w \in writes}
          \cup {[by |-> By, srv |-> Remaining(By) + D, old |-> isOld, name |-> Event[3]]}
  /\ open' = [open EXCEPT ![By] = @ + 1]
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late, bad>>

Named(name) == {w \in writes : w.name = name}

(* As Execute. It stays until its sender knows. *)
TakesEffect ==
  /\ Kind = "effect"
  /\ Named(Event[3]) # {}
  /\ bad' = (bad \/ \E w \in Named(Event[3]) : w.old)
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late, writes, newest, began, open>>

(* Its sender waits for it no more. One without an answer may still take effect. *)
IsDone ==
  /\ Kind = "done"
  /\ writes' = IF Event[4] = "answered" THEN writes \ Named(Event[3]) ELSE writes
  /\ open' = [open EXCEPT ![By] = @ - 1]
  /\ UNCHANGED <<holder, fresh, wait, leads, since, slip, asleep, parted, req, late, newest, began, bad>>

(* At once, when it can see again, or before it asks: what it sees in between makes it wait for longer. *)
MaySee(c) ==
  \/ Kind = "ask" /\ By = c
  \/ at > 1 /\ LET before == Traces[trace][at - 1] IN
       \/ before[1] \in {"put", "late", "free"}
       \/ before[1] \in {"rest", "answer", "give up"} /\ before[2] = c

(* As See, while its request is under way, which cannot win any more. *)
SeesMeanwhile(c) ==
  /\ ~asleep[c] /\ ~fresh[c] /\ req[c] # None /\ ~req[c].same
  /\ fresh' = [fresh EXCEPT ![c] = TRUE]
  /\ wait' = [wait EXCEPT ![c] = 0]
  /\ slip' = [slip EXCEPT ![c] = IF leads[c] /\ holder = c THEN @ ELSE 0]
  /\ leads' = [leads EXCEPT ![c] = @ /\ holder = c]
  /\ began' = [began EXCEPT ![c] = @ /\ holder = c]
  /\ since' = [since EXCEPT ![c] = IF holder = c THEN @ ELSE R]
  /\ parted' = [parted EXCEPT ![c] = @ /\ holder = c]
  /\ UNCHANGED <<holder, asleep, req, late, writes, newest, bad>>

Sees == \E c \in Coordinators : MaySee(c) /\ (See(c) \/ SeesMeanwhile(c)) /\ UNCHANGED <<trace, at, open>>

TraceNext ==
  /\ at <= Len(Traces[trace])
  /\ \/ Sees
     \/ /\ at' = at + 1
        /\ trace' = trace
        /\ \/ TimePasses \/ Rests \/ Asks \/ AsksInVain \/ IsCarriedOut \/ IsCarriedOutLate \/ IsAnswered \/ IsGivenUp \/ Frees
           \/ Leads \/ Stops \/ Writes \/ TakesEffect \/ IsDone

TraceSpec == TraceInit /\ [][TraceNext]_tvars

-----------------------------------------------------------------------------
(* A trace is a behavior of the specification if one comes to its end, which is printed. *)
Accepted == at > Len(Traces[trace]) => PrintT(<<"accepted", trace>>)
(* How far each comes. *)
Told == PrintT(<<"at", trace, at>>)
=============================================================================
