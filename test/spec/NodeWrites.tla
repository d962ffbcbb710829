----------------------------- MODULE NodeWrites -----------------------------
(***************************************************************************)
(* The leader writes the label and the taint of one service to its Nodes.  *)
(* Requests are executed late, answers are lost, the watch is behind, and  *)
(* another replica takes over. Lease.tla shows what Fenced assumes here:   *)
(* no request of an old term takes effect once a new term writes.          *)
(* Times are ticks. Every action but Tick takes no time.                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Nodes,
  Gate,           \* TRUE: the gate `taint`: a permanent label, guarded by a taint without a budget
  MaxUnavailable, \* how many Nodes the taint may close at a time
  T,              \* ticks that a request may take, as the client counts and as `?timeout=` says
  D,              \* ticks that pass at most between the client and the API server
  W,              \* ticks that the watch is behind at most
  Bound,          \* ticks for which a label may stay that the leader knows to be wrong
  \* Mechanisms. FALSE switches one off.
  Fenced,         \* a request of an old term is dead before another term begins
  Timeouts,       \* a write carries `?timeout=`
  Places,         \* a request that adds a taint holds a place
  PlacesOfLost,   \* its place is held on if it was not answered
  ReadsBeforeRest, \* a place that a lost answer left in doubt is free once the Node was read
  WithdrawsFirst, \* a withdrawal goes before all else
  Watches,        \* the watch shows what answers do not
  TaintFirst      \* the label is set once the taint is seen on the Node

VARIABLES
  know,   \* what the leader knows of the service on each Node: "ready", "failing", "unknown"
  node,   \* the Node: [label, taint]
  view,   \* the Node as the leader has observed it
  log,    \* states of the Node that the watch has not shown yet, and for how many ticks each waits: [state, age]
  out,    \* the request that the leader waits for
  ghosts, \* requests that the leader has given up, and that the API server may still execute
  mute,   \* ticks until the API server has given up a request that adds a taint, and was not answered
  held,   \* whether a place in the budget is held for the Node: "no", "yes", or "doubt" after a lost answer
  pause,  \* the leader backs off
  barred, \* with Gate: the API server has refused the taint, and the rest of the plan does not wait for it
  lie,    \* ticks for which the leader has known that the label is wrong, without a fault that explains it
  bare    \* a label took effect on a Node without the taint that it was sent for

vars == <<know, node, view, log, out, ghosts, mute, held, pause, barred, lie, bare>>

Known == {"ready", "failing", "unknown"}
None == [kind |-> "none"]
Idle(n) == out[n] = None

Init ==
  /\ know = [n \in Nodes |-> "unknown"]
  /\ node \in [Nodes -> {[label |-> FALSE, taint |-> FALSE]}]
  /\ view = node
  /\ log = [n \in Nodes |-> <<>>]
  /\ out = [n \in Nodes |-> None]
  /\ ghosts = [n \in Nodes |-> {}]
  /\ mute = [n \in Nodes |-> 0]
  /\ held = [n \in Nodes |-> "no"]
  /\ pause = [n \in Nodes |-> FALSE]
  /\ barred = [n \in Nodes |-> FALSE]
  /\ lie = [n \in Nodes |-> 0]
  /\ bare = FALSE

-----------------------------------------------------------------------------
(* The plan: coordinator/src/decide, and the order of coordinator/src/write. *)

Closed == {n \in Nodes : view[n].taint}
Taken == Closed \cup {n \in Nodes : held[n] # "no"}
HasPlace(n) == Gate \/ n \in Taken \/ Cardinality(Taken) < MaxUnavailable

Withdraws(n) == ~Gate /\ know[n] = "failing" /\ view[n].label
Closes(n) == know[n] = "failing" /\ ~view[n].taint /\ HasPlace(n) /\ ~barred[n]
Opens(n) == know[n] = "ready" /\ view[n].taint
Sets(n) ==
  /\ ~view[n].label
  /\ \/ know[n] = "ready"
     \/ Gate /\ know[n] = "failing" /\ (view[n].taint \/ ~TaintFirst)

(* The next request; "none" where nothing has to be written. *)
Step(n) ==
  IF WithdrawsFirst
  THEN IF Withdraws(n) THEN "withdraw"
       ELSE IF Closes(n) THEN "close"
       ELSE IF Sets(n) THEN "set"
       ELSE IF Opens(n) THEN "open"
       ELSE "none"
  ELSE IF Closes(n) THEN "close"
       ELSE IF Sets(n) THEN "set"
       ELSE IF Opens(n) THEN "open"
       ELSE IF Withdraws(n) THEN "withdraw"
       ELSE "none"

Send(n) ==
  /\ Idle(n)
  /\ ~pause[n]
  /\ Step(n) # "none"
  /\ LET kind == Step(n) IN
     /\ out' = [out EXCEPT ![n] =
          [kind |-> kind,
           left |-> T,
           srv |-> T + D,
           taint |-> view[n].taint,
           guarded |-> kind = "set" /\ know[n] # "ready",
           newer |-> 0,
           phase |-> "sent"]]
     /\ held' = [held EXCEPT ![n] = IF Places /\ kind = "close" /\ @ = "no" THEN "yes" ELSE @]
  /\ UNCHANGED <<know, node, view, log, ghosts, mute, pause, barred, lie, bare>>

(* Nothing has to be written. Whether the lost request closed the Node is known once the API server has given it up and *)
(* the Node was read after that.                                                                                        *)
MayRest(n) == Idle(n) /\ ~pause[n] /\ held[n] = "doubt" /\ Step(n) = "none" /\ (ReadsBeforeRest => mute[n] = 0)

Rest(n) ==
  /\ MayRest(n)
  /\ held' = [held EXCEPT ![n] = "no"]
  /\ IF ReadsBeforeRest
     THEN /\ view' = [view EXCEPT ![n] = node[n]]
          /\ log' = [log EXCEPT ![n] = <<>>]
     ELSE UNCHANGED <<view, log>>
  /\ UNCHANGED <<know, node, out, ghosts, mute, pause, barred, lie, bare>>

-----------------------------------------------------------------------------
(* The API server. *)

(* Whether a request still applies: a JSON patch tests the taints. *)
Applies(n, r) == r.kind \in {"close", "open"} => node[n].taint = r.taint

After(state, kind) ==
  CASE kind = "withdraw" -> [state EXCEPT !.label = FALSE]
    [] kind = "set" -> [state EXCEPT !.label = TRUE]
    [] kind = "close" -> [state EXCEPT !.taint = TRUE]
    [] kind = "open" -> [state EXCEPT !.taint = FALSE]

(* Takes effect on the Node, and is to be shown by the watch. A label that goes ends the lie; a late request may set it again. *)
Changed(n, state) ==
  /\ node' = [node EXCEPT ![n] = state]
  /\ log' = [log EXCEPT ![n] = IF state = node[n] THEN @ ELSE Append(@, [state |-> state, age |-> 0])]
  /\ lie' = [lie EXCEPT ![n] = IF state.label THEN @ ELSE 0]

Bare(n, r) == Gate /\ r.guarded /\ ~node[n].taint /\ ~node[n].label

Execute(n) ==
  /\ out[n].kind # "none"
  /\ out[n].phase = "sent"
  /\ LET r == out[n]
         state == IF Applies(n, r) THEN After(node[n], r.kind) ELSE node[n]
     IN
     /\ Changed(n, state)
     /\ bare' = (bare \/ (Applies(n, r) /\ Bare(n, r)))
     /\ out' = [out EXCEPT ![n].phase = IF Applies(n, r) THEN "applied" ELSE "stale", ![n].newer = 0]
  /\ UNCHANGED <<know, view, ghosts, mute, held, pause, barred>>

ExecuteGhost(n) ==
  \E g \in ghosts[n] :
    LET state == IF Applies(n, g) THEN After(node[n], g.kind) ELSE node[n]
    IN
    /\ Changed(n, state)
    /\ bare' = (bare \/ (Applies(n, g) /\ Bare(n, g)))
    /\ ghosts' = [ghosts EXCEPT ![n] = @ \ {g}]
    /\ out' = IF state # node[n] /\ ~Idle(n) /\ out[n].phase # "sent" THEN [out EXCEPT ![n].newer = @ + 1] ELSE out
    /\ UNCHANGED <<know, view, mute, held, pause, barred>>

(* An admission policy refuses the taint. *)
Refuse(n) ==
  /\ Gate
  /\ out[n].kind = "close"
  /\ out[n].phase = "sent"
  /\ out' = [out EXCEPT ![n] = None]
  /\ barred' = [barred EXCEPT ![n] = TRUE]
  /\ UNCHANGED <<know, node, view, log, ghosts, mute, held, pause, lie, bare>>

(* The answer arrives with the Node as the request left it, unless the watch has shown a newer one. *)
Answer(n) ==
  /\ out[n].kind # "none"
  /\ out[n].phase \in {"applied", "stale"}
  /\ LET isApplied == out[n].phase = "applied"
         shown == Len(log[n]) - out[n].newer
     IN
     /\ IF isApplied /\ shown > 0
        THEN /\ view' = [view EXCEPT ![n] = log[n][shown].state]
             /\ log' = [log EXCEPT ![n] = SubSeq(@, shown + 1, Len(@))]
        ELSE UNCHANGED <<view, log>>
     /\ pause' = [pause EXCEPT ![n] = ~isApplied]
     /\ held' = [held EXCEPT ![n] = IF @ = "doubt" THEN @ ELSE "no"]
  /\ out' = [out EXCEPT ![n] = None]
  /\ UNCHANGED <<know, node, ghosts, mute, barred, lie, bare>>

(* Of a request that its sender has given up, only what the API server knows is left. *)
Ghost(r) == [kind |-> r.kind, srv |-> r.srv, taint |-> r.taint, guarded |-> r.guarded]

(* The leader waits no longer: its time is up, the connection broke, or the Node is slow. *)
GiveUp(n) ==
  /\ out[n].kind # "none"
  /\ LET r == out[n] IN
     /\ ghosts' = IF r.phase = "sent" THEN [ghosts EXCEPT ![n] = @ \cup {Ghost(r)}] ELSE ghosts
     /\ IF r.kind = "close" /\ ~Gate
        THEN /\ held' = [held EXCEPT ![n] = IF PlacesOfLost THEN "doubt" ELSE "no"]
             /\ mute' = [mute EXCEPT ![n] = r.srv + 1]
        ELSE UNCHANGED <<held, mute>>
     /\ lie' = IF r.kind = "withdraw" THEN [lie EXCEPT ![n] = 0] ELSE lie
  /\ pause' = [pause EXCEPT ![n] = TRUE]
  /\ out' = [out EXCEPT ![n] = None]
  /\ UNCHANGED <<know, node, view, log, barred, bare>>

Show(n) ==
  /\ Watches
  /\ log[n] # <<>>
  /\ view' = [view EXCEPT ![n] = Head(log[n]).state]
  /\ log' = [log EXCEPT ![n] = Tail(@)]
  /\ pause' = [pause EXCEPT ![n] = FALSE]
  /\ UNCHANGED <<know, node, out, ghosts, mute, held, barred, lie, bare>>

-----------------------------------------------------------------------------
(* The rest of the world. *)

Learn(n) ==
  \E k \in Known \ {know[n]} :
    /\ know' = [know EXCEPT ![n] = k]
    /\ lie' = [lie EXCEPT ![n] = 0]
    /\ UNCHANGED <<node, view, log, out, ghosts, mute, held, pause, barred, bare>>

(* Another replica leads. Its watches are current before it decides, and it knows nothing of what was in flight. *)
TakeOver ==
  /\ know' = [n \in Nodes |-> "unknown"]
  /\ view' = node
  /\ log' = [n \in Nodes |-> <<>>]
  /\ out' = [n \in Nodes |-> None]
  /\ ghosts' = [n \in Nodes |->
       IF Fenced THEN {} ELSE ghosts[n] \cup (IF ~Idle(n) /\ out[n].phase = "sent" THEN {Ghost(out[n])} ELSE {})]
  /\ mute' = [n \in Nodes |-> 0]
  /\ held' = [n \in Nodes |-> "no"]
  /\ pause' = [n \in Nodes |-> FALSE]
  /\ barred' = [n \in Nodes |-> FALSE]
  /\ lie' = [n \in Nodes |-> 0]
  /\ UNCHANGED <<node, bare>>

Less(x) == IF x = 0 THEN 0 ELSE x - 1

(* Time passes only where nothing is overdue. A leader that may send sends. *)
Tick ==
  /\ \A n \in Nodes :
       /\ ~Idle(n) => out[n].left > 0
       /\ Watches /\ log[n] # <<>> => Head(log[n]).age < W
       /\ Idle(n) /\ ~pause[n] => Step(n) = "none"
       /\ ~MayRest(n)
  /\ out' = [n \in Nodes |->
       IF Idle(n) THEN None ELSE [out[n] EXCEPT !.left = @ - 1, !.srv = Less(@)]]
  /\ ghosts' = [n \in Nodes |->
       IF Timeouts THEN {[g EXCEPT !.srv = @ - 1] : g \in {h \in ghosts[n] : h.srv > 0}} ELSE ghosts[n]]
  /\ mute' = [n \in Nodes |-> Less(mute[n])]
  /\ log' = [n \in Nodes |-> [i \in DOMAIN log[n] |-> [log[n][i] EXCEPT !.age = IF @ < W THEN @ + 1 ELSE W]]]
  /\ pause' = [n \in Nodes |-> FALSE]
  /\ barred' = [n \in Nodes |-> FALSE]
  /\ lie' = [n \in Nodes |->
       IF ~Gate /\ node[n].label /\ know[n] = "failing"
       THEN IF lie[n] > Bound THEN lie[n] ELSE lie[n] + 1
       ELSE 0]
  /\ UNCHANGED <<know, node, view, held, bare>>

Next ==
  \/ \E n \in Nodes :
       Send(n) \/ Rest(n) \/ Execute(n) \/ Refuse(n) \/ ExecuteGhost(n) \/ Answer(n) \/ GiveUp(n) \/ Show(n) \/ Learn(n)
  \/ TakeOver
  \/ Tick

Spec == Init /\ [][Next]_vars

Symmetry == Permutations(Nodes)

-----------------------------------------------------------------------------
(* Without `?timeout=`, requests pile up at the API server: TLC looks at so many. *)
FewGhosts == Timeouts \/ \A n \in Nodes : Cardinality(ghosts[n]) <= 2 /\ Len(log[n]) <= 3

BudgetHolds == Gate \/ Cardinality({n \in Nodes : node[n].taint}) <= MaxUnavailable
NoLastingLie == \A n \in Nodes : lie[n] <= Bound
TaintBeforeLabel == ~bare
=============================================================================
