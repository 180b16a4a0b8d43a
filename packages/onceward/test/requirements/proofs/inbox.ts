import { proof } from './proof.ts'

/** Tests of stored mode and its workers. */
export const inbox = {
  stores: proof('inbox/stored.test.ts', 'stores, settles, and applies later, once'),
  putsOff: proof(
    'inbox/stored.test.ts',
    'puts a failed attempt off durably, while others go on, and parks what keeps failing',
  ),
  copyHeld: proof(
    'inbox/stored.test.ts',
    'knows a message that is stored: the same again is held already, other content is a conflict',
  ),
  keyOrder: proof(
    'inbox/key-order.test.ts',
    'is kept over several workers, whose handlers fail now and then, and other keys flow',
  ),
  takesOver: proof(
    'inbox/processes.test.ts',
    'killed holding a lease: another takes over when it ends, under the next epoch',
  ),
  fenced: proof(
    'inbox/processes.test.ts',
    'frozen past its lease: fenced when it thaws, and the effect happens once',
  ),
  extended: proof(
    'inbox/lease.test.ts',
    'is extended while the handler works, so no other worker takes the message',
  ),
  lists: proof(
    'inbox/cli.test.ts',
    'lists what is held, says what becomes of it next, and how old the oldest is',
  ),
  releases: proof(
    'inbox/cli.test.ts',
    'releases what is parked, to be tried once more, and records who and why',
  ),
  waits: proof('inbox/waiting.test.ts', 'is released in order of version by what it waited for (<mode>)'),
}
