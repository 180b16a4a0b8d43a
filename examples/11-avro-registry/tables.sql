-- A reading applied twice would show in both numbers.
create table meter (
  meter    text primary key,
  kwh      double precision not null,
  readings integer not null
);
