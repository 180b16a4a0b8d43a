import { type BrokerSecurity, brokerSecurity } from '../drivers/broker-security.ts'
import type { Prepare } from '../drivers/postgres/statements/prepare-policy.ts'
import { OncewardError } from '../errors.ts'

/**
 * Server addresses from the environment. Options of the caller take precedence, as does an address in the
 * contract.
 */
export interface ServerSettings {
  readonly rabbitmqUrl?: string | undefined
  readonly rabbitmqStreamUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  readonly rabbitmqCluster?: string | undefined
  readonly kafkaCluster?: string | undefined
  readonly environment?: string | undefined
  readonly archiveFolder?: string | undefined
}

const variables: Readonly<Record<keyof ServerSettings, string>> = {
  rabbitmqUrl: 'ONCEWARD_RABBITMQ_URL',
  rabbitmqStreamUrl: 'ONCEWARD_RABBITMQ_STREAM_URL',
  kafkaBootstrap: 'ONCEWARD_KAFKA_BOOTSTRAP',
  rabbitmqCluster: 'ONCEWARD_RABBITMQ_CLUSTER',
  kafkaCluster: 'ONCEWARD_KAFKA_CLUSTER',
  environment: 'ONCEWARD_ENVIRONMENT',
  archiveFolder: 'ONCEWARD_ARCHIVE_FOLDER',
}

/** The options, completed from environment variables. An empty address counts as unset. */
export function withEnvironment<O extends ServerSettings & BrokerSecurity>(options: O): O & BrokerSecurity {
  const found: Record<string, string> = {}
  for (const [name, variable] of Object.entries(variables)) {
    const value = process.env[variable]
    if (options[name as keyof ServerSettings] === undefined && value) found[name] = value
  }
  if (options.environment === undefined) environmentName()
  const said = brokerSecurity(process.env)
  return {
    ...options,
    ...found,
    rabbitmqTls: options.rabbitmqTls ?? said.rabbitmqTls,
    kafkaTls: options.kafkaTls ?? said.kafkaTls,
    kafkaSasl: options.kafkaSasl ?? said.kafkaSasl,
  }
}

/** The environment of this process. An empty name is usually a variable that was not expanded. */
export function environmentName(): string | undefined {
  const name = process.env.ONCEWARD_ENVIRONMENT
  if (name !== '') return name
  throw new OncewardError(
    'configuration',
    'ONCEWARD_ENVIRONMENT is set but empty, so the database cannot be compared with it. Nothing was started. Set the name of the environment, or unset the variable.',
  )
}

/** Whether repeated statements of handlers are prepared; the store checks the value. */
export function prepareOf({ prepare }: { readonly prepare?: Prepare | undefined }): Prepare {
  return prepare ?? ((process.env.ONCEWARD_PREPARE || 'auto') as Prepare)
}
