"""Writes golden.json: what Confluent's own Python serializers send. The formatter then wraps its lists.

    python -m venv venv && venv/bin/pip install 'confluent-kafka[avro,json,protobuf,schemaregistry]==2.16.0'
    venv/bin/python golden.py > golden.json

golden.extended.test.ts compares both if ONCEWARD_CONFLUENT_PYTHON names that Python.

No broker and no registry runs: the client of mock:// keeps schemas in memory. GUIDs are counted, so that
every run writes the same file.
"""

import base64
import json
import sys
import uuid

from confluent_kafka import __version__
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry import record_subject_name_strategy, topic_record_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

counted = iter(range(1, 1000))
uuid.uuid4 = lambda: uuid.UUID(int=0x0A0B0C0D000040008000000000000000 + next(counted))

client = SchemaRegistryClient.new_client({"url": "mock://golden"})
cases = []


def text(data):
    return base64.b64encode(data).decode("ascii")


def add(name, kind, serializer, value, subject, shown=None, topic="payments"):
    headers = []
    context = SerializationContext(topic, MessageField.VALUE, headers)
    body = serializer(value, context)
    known = client.get_latest_version(subject)
    cases.append({
        "name": name,
        "type": kind,
        "subject": subject,
        "id": known.schema_id,
        "guid": known.guid,
        "schema": known.schema.schema_str,
        "headers": {key: text(content) for key, content in headers},
        "body": text(body),
        "value": value if shown is None else shown,
    })


payment = json.dumps({
    "type": "record", "name": "Payment", "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "cents", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "extra", "type": {"type": "map", "values": "int"}},
        {"name": "next", "type": ["null", "Payment"], "default": None},
    ],
})
paid = {
    "id": "p-1", "cents": 1234567890123, "note": "žluť", "state": "PAID", "tags": ["a", "b"], "extra": {"n": -7},
    "next": {"id": "p-2", "cents": -1, "note": None, "state": "OPEN", "tags": [], "extra": {}, "next": None},
}
add("avro", "AVRO", AvroSerializer(client, payment), paid, "payments-value")
add("avro, guid in header", "AVRO",
    AvroSerializer(client, payment, conf={"schema.id.serializer": header_schema_id_serializer}), paid,
    "payments-value")
add("avro, record subject", "AVRO",
    AvroSerializer(client, payment, conf={"subject.name.strategy": record_subject_name_strategy}), paid,
    "shop.Payment")
add("avro, topic record subject", "AVRO",
    AvroSerializer(client, payment, conf={"subject.name.strategy": topic_record_subject_name_strategy}), paid,
    "payments-shop.Payment")
add("avro, primitive", "AVRO", AvroSerializer(client, json.dumps({"type": "string"})), "text", "names-value",
    topic="names")

order = json.dumps({
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
    "properties": {"id": {"type": "string"}, "lines": {"type": "integer"}}, "required": ["id"],
})
add("json", "JSON", JSONSerializer(order, client), {"id": "o-1", "lines": 3}, "orders-value", topic="orders")
add("json, guid in header", "JSON",
    JSONSerializer(order, client, conf={"schema.id.serializer": header_schema_id_serializer}),
    {"id": "o-1", "lines": 3}, "orders-value", topic="orders")


def field(name, number, kind, label=1, type_name=None):
    made = descriptor_pb2.FieldDescriptorProto(name=name, json_name=name, number=number, type=kind, label=label)
    if type_name:
        made.type_name = type_name
    return made


STRING, INT64, INT32, MESSAGE = 9, 3, 5, 11
file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
first = file.message_type.add(name="Refund")
first.field.append(field("id", 1, STRING))
second = file.message_type.add(name="Parcel")
second.field.append(field("id", 1, STRING))
second.field.append(field("cents", 2, INT64))
entry = second.nested_type.add(name="LabelsEntry")
entry.options.map_entry = True
entry.field.append(field("key", 1, STRING))
entry.field.append(field("value", 2, STRING))
second.field.append(field("labels", 3, MESSAGE, 3, ".shop.Parcel.LabelsEntry"))
item = second.nested_type.add(name="Item")
item.field.append(field("sku", 1, STRING))
item.field.append(field("count", 2, INT32))
second.field.append(field("items", 4, MESSAGE, 3, ".shop.Parcel.Item"))
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
made = {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in ("shop.Refund", "shop.Parcel", "shop.Parcel.Item")}


def protobuf(name, topic, message, shown, **conf):
    serializer = ProtobufSerializer(type(message), client, {"use.deprecated.format": False, **conf})
    add(name, "PROTOBUF", serializer, message, f"{topic}-value", shown, topic)


protobuf("protobuf, first message", "refunds", made["shop.Refund"](id="r-1"), {"id": "r-1"})
parcel = made["shop.Parcel"](id="q-1", cents=5)
parcel.labels["a"] = "b"
parcel.items.add(sku="s", count=2)
protobuf("protobuf, second message", "parcels", parcel,
         {"id": "q-1", "cents": "5", "labels": {"a": "b"}, "items": [{"sku": "s", "count": 2}]})
protobuf("protobuf, nested message", "items", made["shop.Parcel.Item"](sku="s", count=3),
         {"sku": "s", "count": 3})
protobuf("protobuf, guid in header", "parcels", parcel,
         {"id": "q-1", "cents": "5", "labels": {"a": "b"}, "items": [{"sku": "s", "count": 2}]},
         **{"schema.id.serializer": header_schema_id_serializer})

json.dump({
    "serializers": f"confluent-kafka {__version__}",
    "protoFile": text(file.SerializeToString()),
    "cases": cases,
}, sys.stdout, indent=2, ensure_ascii=False)
print()
