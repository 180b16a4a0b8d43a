import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { loadingName } from './event-lines.ts'

/**
 * The process of one test file. `--test-force-exit` ends a process as soon as all tests it knows of have
 * ended, without a word about those that the file defines later, behind an `await`. The test of the file's
 * own loading is known first and ends when the file has defined all of its tests.
 */
const loaded = import(pathToFileURL(resolve(process.argv[2]!)).href)
test(loadingName, () => loaded)
