import type { InitSource } from './project.ts'

/** Lets `docker compose up --wait` return once the servers answer. */
const healthy = (command: string) =>
  `    healthcheck: { test: ${command}, interval: 3s, timeout: 20s, retries: 30 }\n`

const postgres = `  postgres:
    image: postgres:18
    environment:
      POSTGRES_PASSWORD: postgres
    ports: ["127.0.0.1:5432:5432"]
    volumes: ["postgres:/var/lib/postgresql"]
${healthy('pg_isready -h localhost')}`
const rabbitmq = (plugins: string) => `  rabbitmq:
    image: rabbitmq:4-management
    ports: ["127.0.0.1:5672:5672", "127.0.0.1:15672:15672"${plugins === '' ? '' : ', "127.0.0.1:5552:5552"'}]
    volumes: ["rabbitmq:/var/lib/rabbitmq"]
${healthy('rabbitmq-diagnostics -q check_port_connectivity')}${plugins}`
const streams = `    environment:
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: -rabbitmq_stream advertised_host localhost
    command: sh -c "rabbitmq-plugins enable --offline rabbitmq_stream && exec rabbitmq-server"
`
const kafka = `  kafka:
    image: apache/kafka:4.1.0
    ports: ["127.0.0.1:9092:9092"]
${healthy('/opt/kafka/bin/kafka-broker-api-versions.sh --bootstrap-server localhost:9092')}`

const brokers: Readonly<Record<InitSource, { text: string; volumes: readonly string[] }>> = {
  postgres: { text: '', volumes: [] },
  rabbitmq: { text: rabbitmq(''), volumes: ['rabbitmq'] },
  'rabbitmq-stream': { text: rabbitmq(streams), volumes: ['rabbitmq'] },
  kafka: { text: kafka, volumes: [] },
}

/** Servers for development: they listen on localhost only, and their passwords are public. */
export function composeText(source: InitSource): string {
  const { text, volumes } = brokers[source]
  const named = ['postgres', ...volumes].map(name => `  ${name}:\n`).join('')
  return `services:\n${postgres}${text}volumes:\n${named}`
}
