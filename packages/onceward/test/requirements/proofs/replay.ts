import { proof, suite } from './proof.ts'

/** Tests of campaigns. */
export const replay = {
  holes: proof(
    'replay/campaign.test.ts',
    'applies exactly the holes, in its mode, and writes down what it suppressed',
  ),
  nothing: proof('replay/campaign.test.ts', 'of what is applied has no effect at all'),
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
    'an approved backfill asks for its effects, another only writes down that it would have',
  ),
  rebuild: proof(
    'replay/rebuild.test.ts',
    'leaves the live table alone until it is swapped in, with what came meanwhile, once each',
  ),
  rollback: proof(
    'replay/rebuild.test.ts',
    'is rolled back to the old table, and a replay brings what was applied since',
  ),
  killed: proof('replay/kill.test.ts', 'at <point>, passage <hit>, is resumed and ends exact'),
  money: proof(
    'replay/rules.test.ts',
    'money needs the approval of another person, for exactly this plan, in time',
  ),
  refused: proof('replay/rules.test.ts', 'what the contract does not allow is refused when it is asked for'),
  horizon: proof(
    'replay/kinds.test.ts',
    'history behind the horizon is refused, naming what is not protected',
  ),
  audit: proof(
    'replay/audit-effect.test.ts',
    '<mode>: an entry stays as it was recorded, with its marker and without it',
  ),
  newGeneration: suite(
    'delivery-lifecycle-cases.ts',
    'a rebuild under a new generation applies again and requests no external effect',
  ),
  window: proof(
    'effects/contribution.test.ts',
    'a window that was spoilt is recomputed alone, from its facts',
  ),
  transitions: proof(
    'effects/transition-property.test.ts',
    'a replay from zero that remembers no message changes nothing',
  ),
}
