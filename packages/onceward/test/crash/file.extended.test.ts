import { crashSuite } from './crash-suite.ts'

await crashSuite('file')
