/**
 * How a message names the schema it was written with. `id`: the number of a Confluent registry. `guid`: the
 * identifier of Confluent's headers and of AWS Glue. `globalId`, `contentId`: the two numbers of Apicurio.
 */
export type SchemaRef =
  | { readonly kind: 'id'; readonly id: number }
  | { readonly kind: 'guid'; readonly guid: string }
  | { readonly kind: 'globalId' | 'contentId'; readonly id: bigint }

/** For people, and the key of caches: `id 17`. */
export function refText(ref: SchemaRef): string {
  return ref.kind === 'guid' ? `guid ${ref.guid}` : `${ref.kind} ${ref.id}`
}
