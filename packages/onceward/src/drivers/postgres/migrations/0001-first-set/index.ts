import { approvals } from './approvals.ts'
import { attempts } from './attempts.ts'
import { audit } from './audit.ts'
import { blockedKeys } from './blocked-keys.ts'
import { campaignActs } from './campaign-acts.ts'
import { campaignApprovals } from './campaign-approvals.ts'
import { campaignOnParked } from './campaign-on-parked.ts'
import { campaignProgress } from './campaign-progress.ts'
import { campaigns } from './campaigns.ts'
import { clusters } from './clusters.ts'
import { consumers } from './consumers.ts'
import { decisions } from './decisions.ts'
import { destinations } from './destinations.ts'
import { externalEffects } from './external-effects.ts'
import { fixes } from './fixes.ts'
import { forgetMarkerDays } from './forget-marker-days.ts'
import { held } from './held.ts'
import { judge } from './judge.ts'
import { markerDays } from './marker-days.ts'
import { markers } from './markers.ts'
import { names } from './names.ts'
import { outbox } from './outbox.ts'
import { parkedCounts } from './parked-counts.ts'
import { parkingActs } from './parking-acts.ts'
import { people } from './people.ts'
import { positions } from './positions.ts'
import { queues } from './queues.ts'
import { redrives } from './redrives.ts'
import { retention } from './retention.ts'
import { roles } from './roles.ts'
import { serverIncarnations } from './server-incarnations.ts'
import { stuckOutbox } from './stuck-outbox.ts'

/**
 * In the order in which they depend on each other. The roles are last: they have rights on all tables and
 * functions.
 */
export const firstSet = [
  people,
  audit,
  consumers,
  markers,
  attempts,
  positions,
  held,
  parkedCounts,
  blockedKeys,
  decisions,
  approvals,
  fixes,
  campaigns,
  campaignApprovals,
  campaignProgress,
  judge,
  redrives,
  parkingActs,
  campaignActs,
  campaignOnParked,
  externalEffects,
  outbox,
  destinations,
  stuckOutbox,
  clusters,
  queues,
  serverIncarnations,
  names,
  retention,
  markerDays,
  forgetMarkerDays,
  roles,
].join('')
