import { isAnnotationKey } from '@rollcall/common/label-syntax.ts';
import { metadataKind } from './metadata.ts';

/** Notes of rollcall, and annotations that other components act on. A Node does not list them. */
export const annotation = metadataKind('annotation', isAnnotationKey);
