import protobuf, { type Root, type Service, type Type } from 'protobufjs';
import { packages } from '../generated/descriptors.ts';

const root = new protobuf.Root();
const added = new Set<string>();

/**
 * The tree that holds the package of a message or service, of the API or of whatever was added to the tree. A package
 * is read when something of it is first asked for, with those that it refers to: a program that asks for tables needs
 * no pod, and starts sooner.
 */
export function descriptorsOf(name: string): Root {
  for (let end = name.lastIndexOf('.'); end > 0; end = name.lastIndexOf('.', end - 1)) addPackage(name.slice(0, end));
  root.resolveAll();
  return root;
}

const types = new Map<string, Type>();

/** The protobufjs type of a message, e.g. "berth.core.v1.Pod". Throws for a name that the descriptors do not have. */
export function messageType(name: string): Type {
  let type = types.get(name);
  if (!type) {
    type = descriptorsOf(name).lookupType(name);
    types.set(name, type);
  }
  return type;
}

/** A service as the descriptors declare it. Throws for a name that they do not have. */
export function serviceType(name: string): Service {
  return descriptorsOf(name).lookupService(name);
}

/** The tree with every package of the API. */
export function allDescriptors(): Root {
  for (const name of Object.keys(packages)) addPackage(name);
  root.resolveAll();
  return root;
}

function addPackage(name: string): void {
  const found = packages[name];
  if (found === undefined || added.has(name)) return;
  added.add(name);
  found.imports.forEach(addPackage);
  root.define(name, JSON.parse(found.json));
}
