/**
 * Every window between two durable steps, by name. Production code calls `reach(point)`, which does
 * nothing unless the process was started with an armed one (`onceward/testing`). The crash suite kills a
 * real process at each of them; the tidy test fails if a point has no scenario.
 */
export const crashPoints = {
  'batch.received': 'Nothing durable yet: the broker hands the batch over again.',
  'batch.claimed': 'Markers are inserted but not committed: the rollback removes them.',
  'batch.applied': "The handler's writes are in the open transaction: they vanish with the markers.",
  'batch.concluded': 'All is written, COMMIT not sent: everything vanishes together.',
  'batch.fenced':
    "A log's partitions are proven ours and their position is moved, COMMIT not sent: the position vanishes with the effects.",
  'batch.committed': 'Effects are durable, the broker not told: redelivery is recognised as a duplicate.',
  'batch.settled': 'The broker was told: at worst the acknowledgement is still in a buffer and is repeated.',
  'checkpoint.taken': "A partition's epoch is raised, nothing read: the next owner raises it again.",
  'checkpoint.told':
    'The broker knows where a partition begins, the store does not yet: the next start finds it there and begins again.',
  'drain.begun': 'Draining, nothing new is taken: unfinished deliveries go back unsettled.',
  'relay.leased': 'Buckets of the outbox belong to a dead relay: another takes them when its lease ends.',
  'relay.claimed': 'The relay has read rows, nothing else: whoever has their bucket next reads them again.',
  'relay.published':
    'The broker confirmed, the row is still there: the copy is published again under the same id.',
  'relay.deleted': 'The row is gone and the copy confirmed: nothing remains to do.',
  'relay.moved': 'The row has left the outbox for a queue of the same database, in one transaction.',
  'dispatch.claimed': 'A lease is durable, no call made: another dispatcher takes over when it expires.',
  'dispatch.queried':
    'The target said whether an earlier call took effect, nothing recorded: the next dispatcher asks again before it calls.',
  'dispatch.called': 'The target answered, nothing recorded: the next call uses the same key and bytes.',
  'dispatch.recorded': 'The answer is recorded: nothing remains to do.',
  'postgres.leased': 'Rows are leased to a dead subscription: they come back when the lease expires.',
  'work.claimed': 'A lease is durable, nothing tried: another worker takes over when it ends.',
  'work.handed':
    'Stored and claimed for the worker of the same process in one commit, nothing tried: another takes over when the lease ends.',
  'work.finished':
    "A worker's effect is written, its row removed and its marker moved, COMMIT not sent: all of it vanishes, and the lease ends.",
  'work.committed': 'Effect, row and marker are durable together: nothing remains to do.',
  'migrate.applied': 'A migration is committed, the next not begun: the next start goes on from there.',
} as const

export type CrashPoint = keyof typeof crashPoints

/** Called at each point. Inert in production. */
export type Reach = (point: CrashPoint) => void

export const inert: Reach = () => {}
