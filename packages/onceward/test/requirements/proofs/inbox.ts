import { proof } from './proof.ts'

/** Tests of stored mode and its workers. */
export const inbox = {
  stores: proof('work/stored.test.ts', 'stores, settles, and applies later, once'),
  putsOff: proof(
    'work/stored.test.ts',
    'delays a failed message durably while others continue, and parks one that keeps failing',
  ),
  copyHeld: proof(
    'work/stored.test.ts',
    'recognises a stored message: the same content is already held, other content is a conflict',
  ),
  keyOrder: proof(
    'work/key-order.test.ts',
    'is kept over several workers, whose handlers fail now and then, and other keys flow',
  ),
  takesOver: proof(
    'work/processes.test.ts',
    'killed holding a lease: another takes over when it expires, under the next epoch',
  ),
  fenced: proof(
    'work/processes.test.ts',
    'frozen past its lease: fenced when it resumes, and the effect happens once',
  ),
  extended: proof(
    'work/lease.test.ts',
    'is extended while the handler works, so no other worker takes the message',
  ),
  lists: proof('work/cli.test.ts', 'lists held messages, their next step, and the age of the oldest'),
  releases: proof(
    'work/cli.test.ts',
    'releases a parked message for another attempt, and records who and why',
  ),
  waits: proof('work/waiting.test.ts', 'is released in order of version by the missing version (<mode>)'),
}
