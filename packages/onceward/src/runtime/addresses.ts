import { type BrokerSecurity, brokerSecurity } from '../drivers/broker-security.ts'
import { OncewardError } from '../errors.ts'

/**
 * What the environment says about servers, for whoever starts something. What the caller gives comes first,
 * as a contract's own address does.
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

/** The options, completed from the variables of the process. An empty address is one that is not set. */
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

/** The environment this process is set up for. An empty name is usually a variable that was not expanded. */
export function environmentName(): string | undefined {
  const name = process.env.ONCEWARD_ENVIRONMENT
  if (name !== '') return name
  throw new OncewardError(
    'configuration',
    'ONCEWARD_ENVIRONMENT is set but empty, so the database cannot be compared with it. Nothing was started. Give the name of the environment, or unset the variable.',
  )
}
