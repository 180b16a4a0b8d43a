import { after } from 'node:test'
import { openDatabase, postgresStore } from '../conformance/postgres.ts'
import { hostileInputsOn } from './hostile.ts'

const database = await openDatabase()
after(() => database.close())

hostileInputsOn('the PostgreSQL store', postgresStore(database))
