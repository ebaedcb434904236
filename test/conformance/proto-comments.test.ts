import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import fixture from './kubernetes-fields.json' with { type: 'json' };

const protoDir = fileURLToPath(new URL('../../proto', import.meta.url));
const files = readdirSync(protoDir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.proto'));
const kubernetes = new Set(Object.values(fixture).flatMap((messages) => Object.keys(messages)));
const isOfKubernetes = (message: protobuf.Type): boolean =>
  message.fullName.startsWith('.berth.') && kubernetes.has(message.name);

interface Commented {
  readonly path: string;
  readonly comment: string | null;
  readonly parent: protobuf.ReflectionObject | null;
}

/** Messages, fields, services and methods of one file, with the comment that stands above each. */
function commented(text: string): Commented[] {
  const found: Commented[] = [];
  const visit = (object: protobuf.ReflectionObject): void => {
    const isPackage = Object.getPrototypeOf(object) === protobuf.Namespace.prototype;
    if (!isPackage && !(object instanceof protobuf.OneOf)) {
      found.push({ path: object.fullName.slice(1), comment: object.comment, parent: object.parent });
    }
    if (object instanceof protobuf.Type) object.fieldsArray.forEach(visit);
    if (object instanceof protobuf.Service) object.methodsArray.forEach(visit);
    if (object instanceof protobuf.Namespace) object.nestedArray.forEach(visit);
  };
  protobuf
    .parse(text, new protobuf.Root(), { keepCase: true, alternateCommentMode: true, preferTrailingComment: false })
    .root.nestedArray.forEach(visit);
  return found;
}

const texts = files.map((name): [string, string] => [name, readFileSync(join(protoDir, name), 'utf8')]);
const parsed = texts.map(([name, text]): [string, Commented[]] => [name, commented(text)]);

describe.each(parsed)('%s', (_name, objects) => {
  it('says what each message, field, service and method means', () => {
    expect(objects.filter(({ comment }) => !comment || comment.length < 5).map(({ path }) => path)).toEqual([]);
  });

  it('says of every field of a Kubernetes message who writes it', () => {
    const silent = objects.filter(({ comment, parent }) => {
      if (!(parent instanceof protobuf.Type) || !isOfKubernetes(parent)) return false;
      return !/[Ww]ritten (by|with)/.test(`${comment} ${parent.comment}`);
    });
    expect(silent.map(({ path }) => path)).toEqual([]);
  });
});

it.each(texts)('%s has comments of at most 130 characters a line', (_name, text) => {
  expect(text.split('\n').filter((line) => line.trim().startsWith('//') && line.length > 130)).toEqual([]);
});

it('reads hundreds of comments', () => {
  expect(parsed.flatMap(([, objects]) => objects).length).toBeGreaterThan(900);
});

it('notices a field without a comment', () => {
  const [message, named, silent] = commented(
    'syntax = "proto3";\n// A.\nmessage A {\n  // B.\n  int32 b = 1;\n  int32 c = 2;\n}\n',
  );
  expect([message?.comment, named?.comment, silent?.comment]).toEqual(['A.', 'B.', null]);
});
