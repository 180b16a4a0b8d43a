import 'reflect-metadata'
import { RabbitMQModule, RabbitSubscribe } from '@golevelup/nestjs-rabbitmq'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { ConsumeMessage } from 'amqplib'
import pg from 'pg'
import { applyOne } from '../contenders/textbook.ts'
import { fillRabbitmq } from '../fill.ts'
import { bodiesOf } from '../workload.ts'
import { handlerConnections, type Peer } from './peer.ts'

const prefetchCount = 100

/** Node runs the sources with their types stripped, which leaves no decorators: they are called as functions. */
export const nestjsRabbitmq: Peer = {
  name: 'NestJS RabbitMQ, textbook inbox',
  reads: 'rabbitmq',
  packageName: '@golevelup/nestjs-rabbitmq',
  configuration:
    `@RabbitSubscribe, prefetchCount ${prefetchCount}, ${handlerConnections} connections, one transaction a ` +
    'message (marker, update), then the ack; quorum queue',
  storesIds: true,
  handlesBatches: false,
  fill: ({ rabbitmqUrl, queue }, load) => fillRabbitmq(rabbitmqUrl!, queue, bodiesOf(load)),
  async work({ rabbitmqUrl, databaseUrl, queue }) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: handlerConnections })
    class Increments {
      async handle(_message: unknown, { content }: ConsumeMessage): Promise<void> {
        await applyOne(pool, content)
      }
    }
    const method = Object.getOwnPropertyDescriptor(Increments.prototype, 'handle')!
    RabbitSubscribe({ queue, createQueueIfNotExists: false })(Increments.prototype, 'handle', method)
    class App {}
    const broker = RabbitMQModule.forRoot({
      uri: rabbitmqUrl!,
      prefetchCount,
      connectionInitOptions: { wait: true },
    })
    Module({ imports: [broker], providers: [Increments] })(App)
    const app = await NestFactory.createApplicationContext(App, { logger: false })
    await app.init()
  },
}
