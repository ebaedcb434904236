import { isTextTooDeep } from '../../api/meta/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import type { Resource } from '../http/subresources.ts';

/** More resources of an extension server than these are left out of discovery. */
const mostResources = 500;
const mostTexts = 32;
const nameForm = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(\/[-a-z0-9.]+)*$/;
const kindForm = /^[A-Za-z][A-Za-z0-9]*$/;
const mostCharacters = 253;

/**
 * The resources in an APIResourceList of an extension server, as discovery tells of them. What is wrong with one of
 * them leaves it out; a text that is no such list gives undefined.
 */
export function readResources(text: string): readonly Resource[] | undefined {
  const list = parsed(text);
  if (!isJsonObject(list) || list.kind !== 'APIResourceList' || !Array.isArray(list.resources)) return undefined;
  const seen = new Set<string>();
  return list.resources.slice(0, mostResources).flatMap((each) => {
    const resource = isJsonObject(each) ? readResource(each) : undefined;
    if (!resource || seen.has(resource.name)) return [];
    seen.add(resource.name);
    return [resource];
  });
}

function parsed(text: string): unknown {
  try {
    return isTextTooDeep(text) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readResource({ name, singularName, namespaced, kind, group, version, ...lists }: JsonObject): Resource | undefined {
  if (!isText(name) || !nameForm.test(name) || !isText(kind) || !kindForm.test(kind)) return undefined;
  const [verbs, shortNames, categories] = [lists.verbs, lists.shortNames, lists.categories].map(textsOf) as [
    string[],
    string[],
    string[],
  ];
  return {
    ...{ name, singularName: isText(singularName) ? singularName : '', namespaced: namespaced === true, kind, verbs },
    ...(isText(group) && group !== '' && { group }),
    ...(isText(version) && version !== '' && { version }),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= mostCharacters;
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isText).slice(0, mostTexts) : []);
