import { actRoutes } from './act-routes.ts'
import { alertRoutes } from './alert-routes.ts'
import { approvalRoutes } from './approval-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { campaignRoutes } from './campaign-routes.ts'
import { consumerRoutes } from './consumer-routes.ts'
import { decisionRoutes } from './decision-routes.ts'
import { filterRoutes } from './filter-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { messageRoutes } from './message-routes.ts'
import { overviewRoutes } from './overview-routes.ts'
import { rateRoutes } from './rate-routes.ts'
import { redriveRoutes } from './redrive-routes.ts'
import type { Route } from './route.ts'
import { sessionRoutes } from './session-routes.ts'

/** The whole API. The pages use nothing else. */
export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...overviewRoutes,
  ...rateRoutes,
  ...messageRoutes,
  ...filterRoutes,
  ...actRoutes,
  ...redriveRoutes,
  ...approvalRoutes,
  ...consumerRoutes,
  ...alertRoutes,
  ...campaignRoutes,
  ...auditRoutes,
  ...ledgerRoutes,
  ...decisionRoutes,
]
