import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const python = process.env.ONCEWARD_CONFLUENT_PYTHON
const skip = python === undefined && 'ONCEWARD_CONFLUENT_PYTHON names no Python with confluent-kafka'

test('golden.json is what the serializers write today', { skip }, () => {
  const script = fileURLToPath(new URL('golden.py', import.meta.url))
  const written = JSON.parse(execFileSync(python!, [script], { encoding: 'utf8' }))
  const kept = JSON.parse(readFileSync(new URL('golden.json', import.meta.url), 'utf8'))
  assert.deepEqual(written.cases, kept.cases)
})
