import type { Consumer } from '../contract/define-consumer.ts'
import { type CheckReport, check } from '../review/check.ts'
import { withEnvironment } from './addresses.ts'
import { inEnvironment } from './fixed-environment.ts'
import { realEnvironment } from './real-environment.ts'

/** The findings of a review. */
export type ContractReport = CheckReport

/**
 * The findings of "onceward check --live" for one contract. Addresses of brokers come from the environment,
 * as on the command line. Starts, declares and changes nothing.
 */
export function checkContract(
  consumer: Consumer<never, never>,
  databaseUrl: string,
): Promise<ContractReport> {
  return check([{ file: consumer.name, consumer: consumer as never }], {
    trial: { samples: [], inEnvironment },
    waivers: [],
    today: new Date().toISOString().slice(0, 10),
    live: {
      ...withEnvironment({}),
      databaseUrl,
      managementUrl: process.env.ONCEWARD_RABBITMQ_MANAGEMENT_URL,
      env: realEnvironment(),
      wallMs: Date.now,
    },
  })
}
