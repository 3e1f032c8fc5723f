"""Writes the trace of crates/trace/tests/perfetto.rs with Perfetto's own protobuf classes (PyPI: perfetto).

python small.py FILE
"""
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

trace = proto.Trace()
COMM = {0: "swapper", 100: "bash", 200: "hackbench", 201: "sender"}


def counter(time, cpu, value):
    packet = trace.packet.add(timestamp=time, trusted_packet_sequence_id=1)
    packet.track_event.type = proto.TrackEvent.TYPE_COUNTER
    packet.track_event.track_uuid = (1 << 32) + cpu + 1
    packet.track_event.counter_value = value


def counter_track(cpu):
    packet = trace.packet.add(trusted_packet_sequence_id=1)
    track = packet.track_descriptor
    track.uuid = (1 << 32) + cpu + 1
    track.parent_uuid = 1 << 32
    track.name = f"nr_running of CPU {cpu}"
    track.counter.SetInParent()
    track.sibling_order_rank = cpu


def comm(pid, cpu):
    return f"swapper/{cpu}" if pid == 0 else COMM[pid]


def process_tree(time, pid, tgid):
    packet = trace.packet.add(timestamp=time)
    packet.process_tree.processes.add(pid=tgid).cmdline.append(COMM[tgid])
    packet.process_tree.threads.add(tid=pid, name=COMM[pid], tgid=tgid)


utsname = trace.packet.add().system_info.utsname
utsname.sysname = "Linux"
utsname.release = "6.1.0"

group = trace.packet.add(trusted_packet_sequence_id=1)
group.sequence_flags = proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
group.track_descriptor.uuid = 1 << 32
group.track_descriptor.name = "nr_running"
group.track_descriptor.child_ordering = proto.TrackDescriptor.EXPLICIT
counter_track(0)
counter(1000, 0, 1)
counter_track(1)
counter(5000, 1, 1)
counter(6000, 0, 0)
# Only the shell is older than the trace; the others are introduced by their task_newtask.
process_tree(1000, 100, 100)

bundles = {}
for cpu in range(2):
    bundles[cpu] = trace.packet.add().ftrace_events
    bundles[cpu].cpu = cpu


def event(time, cpu, current, tracepoint, **fields):
    added = bundles[cpu].event.add(timestamp=time, pid=current)
    message = getattr(added, tracepoint)
    for key, value in fields.items():
        setattr(message, key, value)


def switch(time, cpu, prev, state, next):
    event(time, cpu, prev, "sched_switch",
          prev_comm=comm(prev, cpu), prev_pid=prev, prev_prio=120, prev_state=state,
          next_comm=comm(next, cpu), next_pid=next, next_prio=120)


def wakeup(time, cpu, current, tracepoint, wakee, target):
    event(time, cpu, current, tracepoint, comm=COMM[wakee], pid=wakee, prio=120, success=1,
          target_cpu=target)


def fork(time, cpu, parent, child, flags):
    event(time, cpu, parent, "task_newtask",
          pid=child, comm=COMM[child], clone_flags=flags, oom_score_adj=0)
    event(time, cpu, parent, "sched_process_fork",
          parent_comm=COMM[parent], parent_pid=parent, child_comm=COMM[child], child_pid=child)


CLONE_THREAD = 0x10000
PREEMPTED, DEAD = 0x100, 0x10
switch(1000, 0, 0, 0, 100)
fork(2000, 0, 100, 200, 0)
wakeup(2500, 0, 100, "sched_wakeup_new", 200, 0)
switch(3000, 0, 100, 1, 200)
fork(4000, 0, 200, 201, CLONE_THREAD)
wakeup(4500, 0, 200, "sched_wakeup_new", 201, 1)
switch(5000, 1, 0, 0, 201)
switch(6000, 0, 200, 2, 0)
wakeup(9000, 1, 201, "sched_waking", 200, 0)
event(9100, 1, 201, "sched_migrate_task", comm="hackbench", pid=200, prio=120,
      orig_cpu=0, dest_cpu=1)
wakeup(9200, 1, 201, "sched_wakeup", 200, 1)
switch(9300, 1, 201, PREEMPTED, 200)
switch(12000, 1, 200, 1, 201)
event(13000, 1, 201, "sched_process_exit", comm="sender", pid=201, tgid=200, prio=120)
switch(13500, 1, 201, DEAD, 0)

with open(sys.argv[1], "wb") as file:
    file.write(trace.SerializeToString())
