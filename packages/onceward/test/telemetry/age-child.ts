import { defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { queue } from 'onceward/rabbitmq'

/** A process whose handler never ends. It reports its health to its parent. */
const { databaseUrl, rabbitmqUrl, name } = JSON.parse(process.env.AGE_ORDERS!) as Record<string, string>
const running = await runConsumer(
  defineConsumer({
    name: 'slow',
    owner: 'tests',
    risk: 'low value',
    source: queue(name!),
    identity: { id: { property: 'messageId' } },
    handle: () => new Promise<void>(() => {}),
  }),
  { databaseUrl: databaseUrl!, rabbitmqUrl: rabbitmqUrl!, env: realEnvironment() },
)
setInterval(() => process.send!(running.health()), 100)
