import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { loadComposer } from '../../../src/effects/external/smtp/mail-composer.ts'
import { renderMail } from '../../../src/effects/external/smtp/render-mail.ts'
import { newestOf, peer, withVersion } from '../../registry/other-versions.ts'

const { range, here } = peer('nodemailer')
const majors = range.split(' || ').map(one => one.replace('^', ''))
const isIn = (version: string) => majors.some(one => one.split('.')[0] === version.split('.')[0])

const frame = {
  from: 'orders@shop.example',
  messageIdDomain: 'shop.example',
  identity: 'consumer\0target\0key',
  createdAt: new Date(1_700_000_000_000),
}
const plain = {
  to: 'ada@shop.example',
  subject: 'Your parcel',
  text: `It is on its way.\n.\n${'long '.repeat(100)}\n`,
}
const mails = [
  plain,
  {
    ...plain,
    to: ['ada@shop.example', 'bob@Shop.example'],
    replyTo: 'help@shop.example',
    subject: 'x '.repeat(300),
  },
  { ...plain, subject: `Grüße 📦 ${'長'.repeat(80)} "quoted" =?x?=`, html: `<p>${'ü'.repeat(3_000)}</p>` },
]

async function rendered(from?: string): Promise<string[]> {
  const compose = loadComposer(from)!
  return Promise.all(mails.map(async mail => (await renderMail(compose, mail, frame)).toString('latin1')))
}

const writesTheSame = (version: string) =>
  withVersion('nodemailer', version, async folder =>
    assert.deepEqual(await rendered(pathToFileURL(join(folder, 'here.js')).href), await rendered()),
  )

describe('nodemailer, an optional peer that writes mails', () => {
  for (const version of majors.filter(one => one.split('.')[0] !== here.split('.')[0]))
    test(`of version ${version} writes the same bytes: a retry may come from another installation`, async t => {
      const found = await newestOf('nodemailer')
      if ('skip' in found) return t.skip(found.skip)
      await writesTheSame(version)
    })

  test('of the newest version in the registry writes the same bytes', async t => {
    const found = await newestOf('nodemailer')
    if ('skip' in found) return t.skip(found.skip)
    const { version } = found
    if (version === here) return t.skip(`${version} is installed here`)
    if (!isIn(version)) return t.skip(`${version} is outside of ${range}`)
    await writesTheSame(version)
  })
})
