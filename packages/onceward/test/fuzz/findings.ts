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
    {
      target: 'avro bodies',
      what: 'an array that was to be read as a record ended in a TypeError of the library',
      input: '6b',
    },
    {
      target: 'avro bodies',
      what: 'a block of items with a wrong size was skipped to another place',
      input: '00046880000280808001010200000202bc610200000002026b020e00',
    },
    {
      target: 'avro schemas',
      what: 'a field that is null ended in a TypeError of ours',
      input: Buffer.from('{"type":"record","name":"a","fields":[null]}').toString('hex'),
    },
    {
      target: 'avro schemas',
      what: 'a type with the name of a member of every object was not looked up',
      input: Buffer.from('{"type":"array","items":"__proto__"}').toString('hex'),
    },
    {
      target: 'json schemas',
      what: 'a schema that refers to itself without end exhausted the stack',
      input: Buffer.from('{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}').toString('hex'),
    },
    {
      target: 'registry answers',
      what: 'an answer with null instead of versions or references ended in a TypeError of ours',
      input: Buffer.from('{"body":{"schema":"{}","references":[null]}}').toString('hex'),
    },
    {
      target: 'cloud events',
      what: 'an attribute with half a character was read, and sent as another one',
      input: Buffer.from(
        '{"headers":{"ce_specversion":"1.0","ce_id":"a","ce_source":"\\ud800","ce_type":"t"},"body":""}',
      ).toString('hex'),
    },
  ]
