/** Where an attempt failed, as part of what makes two failures the same; and runs that are paused because the downstream is away. */
export const failure = `
alter table onceward.attempt add column place text not null default '';
alter table onceward.held add column place text not null default '';
alter table onceward.run add column paused_since timestamptz;
alter table onceward.run add column paused_because text;
`
