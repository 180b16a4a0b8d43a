import { proof } from './proof.ts'

/** Tests of retention. */
export const retention = {
  behindHorizon: proof(
    'retention/horizon.test.ts',
    'is parked instead of applied again, and other messages continue',
  ),
  tenantApproval: proof('retention/tenants.test.ts', 'needs two people who are registered: risk <risk>'),
  tenants: proof(
    'retention/tenants.test.ts',
    'drops a tenant: its rows of every kind, as an act in the audit, and no row of others',
  ),
  byRisk: proof('unit/retention-contract.test.ts', 'is none unless it has the section, and then by its risk'),
  tooShort: proof(
    'unit/retention-contract.test.ts',
    'must be longer than any source of duplicates, and the refusal has the numbers',
  ),
  unknown: proof('unit/retention-contract.test.ts', "must be declared where the source's window is unknown"),
  refused: proof(
    'retention/loop.test.ts',
    'is refused at start when it would remove markers too early, and nothing is started',
  ),
  horizon: proof(
    'retention/horizon.test.ts',
    'is parked instead of applied again, and other messages continue',
  ),
  purges: proof(
    'retention/purge.test.ts',
    'is removed when it is older than its term, and the horizon moves',
  ),
  unfinished: proof(
    'retention/purge.test.ts',
    'is finished: what is stored, waits, is parked or has its bytes kept never loses its marker',
  ),
  archive: proof(
    'retention/purge.test.ts',
    'is written to the archive before it is removed, plain or compressed',
  ),
  days: proof(
    'retention/days.test.ts',
    'a day before the cutoff is dropped, and markers that must stay are kept (<form>)',
  ),
  keys: proof(
    'retention/purge.test.ts',
    'of business keys, notes, attempts and completed effects has its own term',
  ),
  archivedReplay: proof(
    'replay/archive.test.ts',
    'applies dead letters once, although retention crashed and archived them twice',
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
