import type { Consumer } from 'onceward'
import type { SqlPool } from 'onceward/operations'
import type { Campaigns } from './api/campaigns.ts'
import type { RefusalLimit } from './api/record-refused.ts'
import type { Screens } from './api/screens.ts'
import type { Selections } from './api/selections.ts'
import type { Links } from './auth/links.ts'
import type { Sessions } from './auth/sessions.ts'
import type { Limits } from './http/limits.ts'
import type { ConsoleOptions } from './options.ts'

/** What the parts of one console share. */
export interface Parts {
  readonly options: ConsoleOptions
  /** With a slash at both ends. */
  readonly basePath: string
  readonly pool: SqlPool
  readonly sessions: Sessions
  readonly links: Links
  readonly limits: Limits
  readonly refusals: RefusalLimit
  readonly screens: Screens
  readonly selections: Selections
  readonly campaigns: Campaigns
  readonly contracts: ReadonlyMap<string, Consumer<never, never>>
}
