import { after } from 'node:test'
import { deliveryConformance, sourceConformance } from 'onceward/testing'
import { kafkaSource } from './kafka.ts'
import { openDatabase, postgresStore } from './postgres.ts'

const database = await openDatabase()
after(() => database.close())
const source = await kafkaSource()

sourceConformance('a Kafka topic', source)
sourceConformance('a Kafka topic, consumer protocol', await kafkaSource('consumer'))
deliveryConformance('Kafka topic × PostgreSQL store', { source, store: postgresStore(database) })
