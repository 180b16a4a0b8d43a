import { after } from 'node:test'
import { deliveryConformance, storeConformance } from 'onceward/testing'
import { memorySource } from './memory.ts'
import { openDatabase, postgresStore } from './postgres.ts'

const database = await openDatabase({ days: true })
after(() => database.close())
const store = postgresStore(database)

storeConformance('the PostgreSQL store, markers in days', store)
deliveryConformance('memory queue × PostgreSQL store, markers in days', { source: memorySource, store })
