import { proof, suite } from './proof.ts'

/** Tests of campaigns. */
export const replay = {
  holes: proof(
    'replay/campaign.test.ts',
    'applies exactly the missing messages, in its mode, and records what it suppressed',
  ),
  nothing: proof('replay/campaign.test.ts', 'of applied messages has no effect'),
  forensic: proof(
    'replay/kinds.test.ts',
    'forensic changes nothing and lists what is missing, conflicting and unreadable',
  ),
  repair: proof(
    'replay/kinds.test.ts',
    'a repair looks again at what was ignored, of the selected keys only',
  ),
  approved: proof(
    'replay/kinds.test.ts',
    'an approved backfill requests its effects, another only records them as suppressed',
  ),
  rebuild: proof(
    'replay/rebuild.test.ts',
    'leaves the live table alone until it is swapped in, with the messages that arrived meanwhile, once each',
  ),
  rollback: proof(
    'replay/rebuild.test.ts',
    'is rolled back to the old table, and a replay applies what was applied since',
  ),
  killed: proof('replay/kill.test.ts', 'at <point>, passage <hit>, is resumed and ends exact'),
  money: proof(
    'replay/rules.test.ts',
    'money needs the approval of another person, for exactly this plan, in time',
  ),
  refused: proof('replay/rules.test.ts', 'a mode that the contract does not allow is refused at creation'),
  horizon: proof('replay/kinds.test.ts', 'history before the horizon is refused, with the unprotected keys'),
  backfill: proof(
    'replay/kinds.test.ts',
    'an approved backfill requests its effects, another only records them as suppressed',
  ),
  audit: proof(
    'replay/audit-effect.test.ts',
    '<mode>: an entry stays as it was recorded, with its marker and without it',
  ),
  newGeneration: suite(
    'delivery-lifecycle-cases.ts',
    'a rebuild under a new generation applies again and requests no external effect',
  ),
  window: proof('effects/contribution.test.ts', 'a corrupted window is recomputed alone, from its facts'),
  transitions: proof(
    'effects/transition-property.test.ts',
    'a replay from zero that remembers no message changes nothing',
  ),
}
