//! `#[derive(Plain)]`: structs that travel in messages as they lie in memory.
//!
//! The derive writes the `unsafe impl` so that no user has to. It is sound because everything that the trait asks for is
//! checked when the struct is compiled: its layout is fixed (`repr(C)` or `repr(transparent)`), each field is `Plain`
//! itself, and the sizes of the fields add up to the size of the struct, so that there is no padding.
#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Result, parse_macro_input};

/// Implements `corelace::Plain` for a struct.
///
/// The struct must be `#[repr(C)]` or `#[repr(transparent)]`, `Copy`, without type parameters, without padding, and made of
/// fields that are `Plain`. Anything else is refused with the reason.
#[proc_macro_derive(Plain)]
pub fn derive_plain(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = fields_of(input)?;
    check_layout_is_fixed(input)?;
    if let Some(parameter) = input.generics.params.first() {
        let why =
            "Plain cannot be derived for a generic struct: its padding is known only once the parameters are";
        return Err(Error::new(parameter.span(), why));
    }

    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let bounds = types.iter().map(|ty| quote_spanned!(ty.span() => #ty: ::corelace::Plain));
    let message = format!(
        "{name} has padding, whose bytes hold nothing that could be sent: order its fields by size, or fill the gaps \
         with fields"
    );
    Ok(quote! {
        const _: () = {
            ::core::assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                #message
            );
            // SAFETY: the layout is fixed, all fields are `Plain` by the bounds below, and there is no padding by the
            // assertion above.
            #[automatically_derived]
            unsafe impl ::corelace::Plain for #name where #(#bounds,)* {}
        };
    })
}

fn fields_of(input: &DeriveInput) -> Result<Vec<&Field>> {
    let refuse = |what: &str| Err(Error::new(input.ident.span(), what));
    match &input.data {
        Data::Struct(data) => Ok(match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect(),
            Fields::Unnamed(fields) => fields.unnamed.iter().collect(),
            Fields::Unit => Vec::new(),
        }),
        Data::Enum(_) => {
            refuse("Plain cannot be derived for an enum: not every value of its bytes is a variant")
        }
        Data::Union(_) => refuse("Plain cannot be derived for a union: some of its bytes may hold nothing"),
    }
}

fn check_layout_is_fixed(input: &DeriveInput) -> Result<()> {
    let mut fixed = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // `align(8)` and `packed(2)` carry a number; what they do to the layout, the size assertion sees.
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                number.parse::<syn::LitInt>()?;
            }
            Ok(())
        })?;
    }
    if fixed { Ok(()) } else { Err(Error::new(input.ident.span(), NOT_FIXED)) }
}

const NOT_FIXED: &str = "Plain needs a fixed layout: add #[repr(C)], or #[repr(transparent)] for one field";
