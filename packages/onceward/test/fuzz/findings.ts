/** What fuzzing found, mended since. Each input is run by every `npm test`. */
export const findings: readonly { readonly target: string; readonly what: string; readonly input: string }[] =
  [
    {
      target: 'urls',
      what: 'an unfinished percent sign in the login of a stream ended in an error of the platform',
      input: Buffer.from('rabbitmq-stream://a%zz@b').toString('hex'),
    },
    {
      target: 'kafka fetch responses',
      what: 'a response that ends in a number ended in a TypeError of the client library',
      input: `${'00'.repeat(10)}02${'07'.repeat(16)}`,
    },
    {
      target: 'stream chunks',
      what: 'two records of a chunk had one offset, beyond the exact range of numbers',
      input: `015000000200000002${'00'.repeat(8)}${'00'.repeat(8)}4000000000000000${'00'.repeat(8)}${'00'.repeat(8)}0000000161${'0000000162'}`,
    },
  ]
