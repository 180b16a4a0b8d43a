import { proof } from './proof.ts'

/** Tests of retention. */
export const retention = {
  tenants: proof(
    'retention/tenants.test.ts',
    'drops a tenant: its rows of every kind, as an act in the audit, and no row of others',
  ),
  byRisk: proof('unit/retention-contract.test.ts', 'is none unless it has the section, and then by its risk'),
  tooShort: proof(
    'unit/retention-contract.test.ts',
    'must be longer than anything that can bring a duplicate back, and the refusal has the numbers',
  ),
  unknown: proof('unit/retention-contract.test.ts', 'must be declared where the source cannot say'),
  refused: proof(
    'retention/loop.test.ts',
    'is refused at start when it would forget too early, and nothing is started',
  ),
  horizon: proof('retention/horizon.test.ts', 'is not applied again but parked, and neighbours flow'),
  purges: proof(
    'retention/purge.test.ts',
    'goes when it is older than its term, and the horizon says how far',
  ),
  unfinished: proof(
    'retention/purge.test.ts',
    'is finished: what is stored, waits, is parked or has its bytes kept never loses its marker',
  ),
  archive: proof('retention/purge.test.ts', 'is written to the archive before it goes, plain or compressed'),
  days: proof(
    'retention/days.test.ts',
    'a day behind the cutoff goes whole, with what must stay kept (<form>)',
  ),
  keys: proof(
    'retention/purge.test.ts',
    'of business keys, notes, attempts and completed effects goes by its own term',
  ),
  archivedReplay: proof(
    'replay/archive.test.ts',
    'applies dead letters once, although retention died and archived them twice',
  ),
  ownQueue: proof(
    'retention/own-queue.test.ts',
    'keeps its marker and everything younger than itself, until it is removed',
  ),
  advice: proof(
    'check/retention-advice.test.ts',
    'is {} for a queue of ours, and its absence is an error for money alone',
  ),
  lateWindows: proof(
    'unit/retention-contract.test.ts',
    'longer than the declared term of markers is refused at start, with the numbers',
  ),
}
