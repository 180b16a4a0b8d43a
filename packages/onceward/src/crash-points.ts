/**
 * Every window between two durable steps, by name. Production code calls `reach(point)`, which does
 * nothing unless the process was started with an armed one (`onceward/testing`). The crash suite kills a
 * real process at each of them; the tidy test fails if a point has no scenario.
 */
export const crashPoints = {
  'batch.received': 'Nothing durable yet: the broker hands the batch over again.',
  'batch.marked': 'Markers are inserted but not committed: the rollback removes them.',
  'batch.applied': "The handler's writes are in the open transaction: they vanish with the markers.",
  'batch.concluded': 'All is written, COMMIT not sent: everything vanishes together.',
  'batch.fenced':
    "A log's partitions are proven ours and their position is moved, COMMIT not sent: the position vanishes with the effects.",
  'batch.committed': 'Effects are durable, the broker not told: redelivery is recognised as a duplicate.',
  'batch.settled': 'The broker was told: at worst the acknowledgement is still in a buffer and is repeated.',
  'checkpoint.taken': "A partition's epoch is raised, nothing read: the next owner raises it again.",
  'checkpoint.confirmed':
    'The broker knows where a partition begins, the store does not yet: the next start finds it there and begins again.',
  'drain.begun': 'Draining, nothing new is taken: unfinished deliveries go back unsettled.',
  'relay.leased': 'Buckets of the outbox belong to a dead relay: another takes them when its lease ends.',
  'relay.read': 'The relay has read rows, nothing else: whoever has their bucket next reads them again.',
  'relay.published':
    'The broker confirmed, the row is still there: the copy is published again under the same id.',
  'relay.deleted': 'The row is gone and the copy confirmed: nothing remains to do.',
  'relay.moved': 'The row has left the outbox for a queue of the same database, in one transaction.',
  'dispatch.leased': 'A lease is durable, no call made: another dispatcher takes over when it expires.',
  'dispatch.queried':
    'The target said whether an earlier call took effect, nothing recorded: the next dispatcher asks again before it calls.',
  'dispatch.called': 'The target answered, nothing recorded: the next call uses the same key and bytes.',
  'dispatch.recorded': 'The answer is recorded: nothing remains to do.',
  'postgres.leased': 'Rows are leased to a dead subscription: they come back when the lease expires.',
  'work.leased': 'A lease is durable, nothing tried: another worker takes over when it ends.',
  'work.handoff':
    'Stored and claimed for the worker of the same process in one commit, nothing tried: another takes over when the lease ends.',
  'work.finished':
    "A worker's effect is written, its row removed and its marker moved, COMMIT not sent: all of it vanishes, and the lease ends.",
  'work.committed': 'Effect, row and marker are durable together: nothing remains to do.',
  'replay.taken': "A campaign is this process's, nothing read: another may run it when its lease ends.",
  'replay.journaled':
    'A batch of a campaign is written with its counts and its place, COMMIT not sent: all of it vanishes, and the batch is read again.',
  'replay.undone':
    'A forensic batch is rolled back and its findings not written: the same batch is looked at again.',
  'replay.ended':
    'Everything is read, the campaign still says running: the next run finds nothing left and ends it.',
  'swap.moved': 'Tables and markers are exchanged, COMMIT not sent: everything is where it was.',
  'swap.done': 'The rebuilt tables are live and the campaign says so: nothing remains to do.',
  'swap.undone': 'The old tables are back, COMMIT not sent: the rebuilt ones are still live.',
  'suspect.counted':
    'An attempt of a suspect is durable, its handler not begun: the next process counts one death it did not die of.',
  'suspect.grouped':
    'A group of suspects is on record, none of its handlers begun: the next process tries them in groups of half the size.',
  'suspect.reading':
    'A suspect or a group of suspects is on record under its bytes, nothing of it read: the same, or one death it did not die of.',
  'suspect.read':
    'Suspects are read, the record of the last ones is still there: the next process reads them in smaller groups, or counts one death that one of them did not cause.',
  'parking.selected':
    'A replay of parked messages is written down, nothing moved: the same order goes on with it.',
  'parking.moving': 'A stage of a replay is moved, COMMIT not sent: its messages are parked as before.',
  'parking.moved': 'A stage is handed over to the workers: the next begins where it ended.',
  'parking.skipped':
    'Messages are given up, COMMIT not sent: they are parked as before, and the audit says nothing.',
  'parking.fixed': 'A payload is replaced, COMMIT not sent: it is the original.',
  'parking.deleted':
    'An approved deletion is written, COMMIT not sent: the bytes and the approval are there.',
  'retention.archived':
    'Rows are in the archive, on disk, and still in their table: they are archived once more, and then removed.',
  'retention.removed': 'Rows are removed and the horizon is moved, COMMIT not sent: both are as before.',
  'retention.committed': 'Rows are gone and the horizon says so: the next pass goes on with what is left.',
  'days.made': 'Tables for days ahead are made, COMMIT not sent: the next pass makes them.',
  'days.sealed':
    'Writes in an old day are noted, the day is there: the next pass looks through it and drops it.',
  'days.dropped': 'A day is dropped and the horizon is moved, COMMIT not sent: both are as before.',
  'days.gone': 'A day is gone and the horizon says so: the next pass goes on with the next.',
  'days.built':
    "A consumer's markers are in tables of their own, not attached, COMMIT not sent: they are where they were.",
  'days.attached': 'The tables are attached, COMMIT not sent: all is as before.',
  'days.standing': "A consumer's markers lie in days: nothing remains to do.",
  'migrate.applied': 'A migration is committed, the next not begun: the next start goes on from there.',
} as const

export type CrashPoint = keyof typeof crashPoints

/** Called at each point. Inert in production. */
export type Reach = (point: CrashPoint) => void

export const inert: Reach = () => {}
