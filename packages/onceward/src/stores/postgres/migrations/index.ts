import { spine } from './0001-spine.ts'
import { failure } from './0002-failure.ts'
import { parking } from './0003-parking.ts'
import { parkingVerbs } from './0003-parking-verbs.ts'
import { replay } from './0004-replay.ts'
import { retention } from './0005-retention.ts'
import { suspects } from './0006-suspects.ts'
import { evidence } from './0007-evidence.ts'
import { restore } from './0008-restore.ts'
import { campaigns } from './0009-campaigns.ts'
import { markerDays } from './0010-marker-days.ts'
import { campaignAhead } from './0011-campaign-ahead.ts'
import { destinations } from './0012-destinations.ts'
import { heldOrigin } from './0013-held-origin.ts'
import { heldVerbs } from './0013-held-verbs.ts'
import { acts } from './0014-acts.ts'
import { days } from './0014-days.ts'
import { fixes } from './0014-fixes.ts'
import { judge } from './0014-judge.ts'
import { names } from './0014-names.ts'
import { people } from './0014-people.ts'
import { roles } from './0014-roles.ts'
import { said } from './0014-said.ts'
import { withdrawnLosses } from './0014-withdrawn-losses.ts'
import { haltedRuns } from './0015-halted-runs.ts'
import { suspectGroups } from './0016-suspect-groups.ts'
import { reasons } from './0017-reasons.ts'
import { keyWaits } from './0018-key-waits.ts'
import { givenUp } from './0019-given-up.ts'
import { clusters } from './0020-clusters.ts'
import { searchPaths } from './0021-search-paths.ts'
import { clocks } from './0022-clocks.ts'
import { clockSteps } from './0023-clock-steps.ts'
import { fixedKeys } from './0026-fixed-keys.ts'
import { generations } from './0026-generations.ts'
import { heldMode } from './0026-held-mode.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** Oldest code that still works on a schema at this version. */
  readonly compatibleFrom: number
  /** Tables that must be empty, because their rows lack what the new version needs; with what empties them. */
  readonly emptied?: { readonly table: string; readonly how: string }
}

/** Forward only; a released migration is never edited. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'spine', sql: spine, compatibleFrom: 1 },
  { version: 2, name: 'failure', sql: failure, compatibleFrom: 1 },
  { version: 3, name: 'parking', sql: parking + parkingVerbs, compatibleFrom: 3 },
  { version: 4, name: 'replay', sql: replay, compatibleFrom: 3 },
  { version: 5, name: 'retention', sql: retention, compatibleFrom: 3 },
  { version: 6, name: 'suspects', sql: suspects, compatibleFrom: 3 },
  { version: 7, name: 'evidence', sql: evidence, compatibleFrom: 3 },
  { version: 8, name: 'restore', sql: restore, compatibleFrom: 3 },
  { version: 9, name: 'campaigns', sql: campaigns, compatibleFrom: 3 },
  { version: 10, name: 'marker days', sql: markerDays, compatibleFrom: 3 },
  { version: 11, name: 'campaign ahead', sql: campaignAhead, compatibleFrom: 3 },
  {
    version: 12,
    name: 'destinations',
    sql: destinations,
    compatibleFrom: 12,
    emptied: {
      table: 'onceward.outbox',
      how: 'They do not say which cluster or virtual host they are for. Stop the consumers and producers, and let the relays of the version that wrote them run on ("onceward relay --broker …", once per virtual host and cluster; for cdc with --cdc-keep 1) until "onceward status" shows an empty outbox. Then migrate again.',
    },
  },
  { version: 13, name: 'held origin', sql: heldOrigin + heldVerbs, compatibleFrom: 13 },
  {
    version: 14,
    name: 'people',
    sql: withdrawnLosses + people + acts + names + fixes + judge + days + said + roles,
    compatibleFrom: 14,
  },
  { version: 15, name: 'halted runs', sql: haltedRuns, compatibleFrom: 3 },
  { version: 16, name: 'suspect groups', sql: suspectGroups, compatibleFrom: 3 },
  { version: 17, name: 'reasons', sql: reasons, compatibleFrom: 17 },
  { version: 18, name: 'key waits', sql: keyWaits, compatibleFrom: 18 },
  { version: 19, name: 'given up', sql: givenUp, compatibleFrom: 18 },
  { version: 20, name: 'clusters', sql: clusters, compatibleFrom: 18 },
  // A function that is made anew loses its settings: later migrations give each its search path again.
  { version: 21, name: 'search paths', sql: searchPaths, compatibleFrom: 18 },
  { version: 22, name: 'clocks', sql: clocks, compatibleFrom: 18 },
  { version: 23, name: 'clock steps', sql: clockSteps, compatibleFrom: 18 },
  { version: 26, name: 'decisions', sql: generations + heldMode + fixedKeys, compatibleFrom: 18 },
]
