import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { surviveDeath } from './server-death.ts'

describe('servers killed with kill -9 under load', {
  timeout: 280_000,
  ...(await skipWithout('postgres', 'rabbitmq')),
}, () => {
  for (const [kind, victim] of [
    ['postgres', 'postgres'],
    ['rabbitmq', 'postgres'],
    ['rabbitmq', 'rabbitmq'],
  ] as const) {
    test(`${victim} is killed while two processes consume from ${kind}: all are applied, each once`, t =>
      surviveDeath(kind, victim, t))
  }
})
