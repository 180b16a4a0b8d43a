/**
 * An act of an operator is one function of the database; operations/act.ts calls it. The function checks the
 * rules and writes the audit row. For `actOnEffect` and `releaseHeld`, a trigger on the table of these acts
 * writes it. A function that refuses returns `{ ok: false, why }` instead of raising, so that the audit keeps
 * the refusal.
 *
 * Not one function each, because they take many statements or transactions: passes of retention, whose totals
 * are in `onceward.purged`; `retention partition`; swap and rollback of a rebuild, which the history of the
 * campaign shows. `migrate` and `migrate --roles` change the schema, as its owner.
 */
export const acts = {
  acceptBroker: 'onceward.accept_broker($1, $2, $3)',
  acceptIncarnation: 'onceward.accept_incarnation($1, $2)',
  acceptLoss: 'onceward.accept_loss($1, $2, $3, $4)',
  actOnEffect: 'onceward.act_on_effect($1, $2, $3, $4, $5::onceward.effect_state, $6)',
  approve: `onceward.approve($1::bigint, decode($2, 'hex'), $3)`,
  approveCampaign: `onceward.approve_campaign($1, decode($2, 'hex'), $3, $4)`,
  classifyParked: 'onceward.classify_parked($1, $2::bigint[], $3, $4, $5)',
  createCampaign: 'onceward.create_campaign($1, $2::smallint, $3, $4, $5, $6, $7)',
  /** The function returns the id of the incarnation and raises if it refuses. */
  declareIncarnation: `jsonb_build_object('ok', true, 'id', onceward.record_incarnation($1))`,
  decline: 'onceward.decline($1::bigint, $2)',
  deleteParked: 'onceward.delete_parked($1::bigint, $2)',
  dropOutbox: 'onceward.drop_outbox($1, $2, $3)',
  dropTenant: 'onceward.drop_tenant($1, $2, $3)',
  fixPayload: `onceward.fix_parked($1, $2, 'payload', $3, $4, $5, $6, $7, $8)`,
  fixState: `onceward.fix_parked($1, $2, 'state', $3, null, null, null, $4)`,
  planCampaign: 'onceward.plan_campaign($1, $2)',
  quarantineParked: `onceward.quarantine_parked($1, $2::bigint[], decode($3, 'hex'), $4)`,
  redriveStage: 'onceward.redrive_stage($1, $2)',
  redriveStart: `onceward.redrive_start($1, $2, $3::bigint[], decode($4, 'hex'), $5, $6)`,
  redriveStop: 'onceward.redrive_stop($1, $2)',
  releaseBrake: 'onceward.release_brake($1, $2, $3)',
  /** Without the lease count, the row is released however often it was leased. */
  releaseHeld:
    'onceward.release_held($1, $2, coalesce($3, (select epoch from onceward.held where id = $2)), $4)',
  releaseUnknownSchemas: 'onceward.release_unknown_schemas($1, $2::bigint[], $3)',
  removeFilter: 'onceward.remove_filter($1)',
  renameConsumer: 'onceward.rename_consumer($1, $2, $3)',
  requestDeletion: `onceward.request_deletion($1, $2::bigint[], decode($3, 'hex'), $4, $5)`,
  retireDestination: 'onceward.retire_destination($1, $2, $3)',
  saveFilter: 'onceward.save_filter($1, $2)',
  separateReader: 'onceward.separate_reader($1, $2, $3)',
  skipParked: `onceward.skip_parked($1, $2::bigint[], decode($3, 'hex'), $4)`,
  steerCampaign: 'onceward.steer_campaign($1, $2, $3, $4)',
} as const
